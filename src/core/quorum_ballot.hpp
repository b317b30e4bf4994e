// SPDX-License-Identifier: MIT
// Ballot: how the servers of a quorum voted in one round of a claim, and what the votes mean
// together. It decides nothing by time.
#pragma once

#include "core/quorum.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock::quorum {

enum class Voted {
  unasked,
  asked,
  granted,
  refused,
  failed,  // no answer, or an answer that is no verdict
};

struct Seat {
  Voted vote = Voted::unasked;
  bool doubtful = false;  // the server did not answer the last request before this round
  bool possible = false;  // the server may have granted the claim
  bool silent = false;    // the server did not answer within the limit
  bool raised = false;    // the server has recorded the chosen tokens
  Grant grant = {};
  Refusal refusal = {};
  Error error = {};
};

class Ballot {
 public:
  explicit Ballot(const Members& members);

  std::size_t size() const { return seats_.size(); }
  Seat& operator[](std::size_t server) { return seats_[server]; }
  const Seat& operator[](std::size_t server) const { return seats_[server]; }
  std::size_t count(Voted vote) const;

  // Records that a server was asked, and its answer.
  void asked(std::size_t server);
  void take(std::size_t server, const Result<AcquireReply>& answer);
  void fail(std::size_t server, Error error);

  // Grants count together only if they have the same owners: a nested claim may join an ancestor's
  // hold at some servers and get a hold of its own at others. votes() is the size of the largest
  // such group; agrees() is whether the server's grant is in a group of that size.
  std::size_t votes() const;
  bool agrees(std::size_t server) const;
  // Returns how many servers gave no vote and will give none.
  std::size_t failures() const;

  // Returns the leader: the first server in the list that answered. nullopt: it is not known yet,
  // because a server before it in the list may still answer. A doubtful server is not waited for;
  // with `impatient` no server is.
  std::optional<std::size_t> leader(bool impatient) const;

  // Returns an error that ends the claim whatever the other servers say: bad usage, two URLs of one
  // process, or a majority that no longer knows the ancestor's hold.
  std::optional<Error> mistake() const;
  // Set if a server said that a successful run makes the claim needless.
  const std::optional<Done>& done() const { return done_; }

  // Returns whether a majority recorded the same token for each joined hold. Needs a vote.
  bool knows_tokens() const;
  // Returns the holds that most votes grant, with the tokens that all servers must record. For each
  // name that is the token that a majority has; otherwise the largest or, for a joined hold, the
  // most frequent. Needs a vote.
  Holds choose() const;

  // Returns the answer of each server that was asked.
  std::vector<Vote> words() const;
  // Returns the error failed_servers() for the servers that failed.
  Error too_few(const std::string& what) const;

 private:
  std::size_t alike(const Holds& holds) const;
  struct Count {
    FencingToken token = 0;
    std::size_t votes = 0;
  };
  // Returns the most frequent token for one name of the claim; of equally frequent ones the first.
  Count commonest(std::size_t name) const;

  const Members& members_;
  std::vector<Seat> seats_;
  std::optional<Done> done_;
};

}  // namespace dlock::quorum
