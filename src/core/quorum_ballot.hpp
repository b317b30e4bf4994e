// SPDX-License-Identifier: MIT
// Ballot: how the servers of a quorum voted in one round of a claim, and what the votes mean
// together. A round asks all servers. The ballot decides nothing by time.
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
  bool doubtful = false;  // the server did not answer the newest request before this round
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

  // votes() returns the size of the largest group of grants with the same owners; agrees() returns
  // whether the server's grant is in a group of that size. Grants of different owners do not count
  // together: a nested claim may join an ancestor's hold at some servers, and get a hold of its own
  // at other servers.
  std::size_t votes() const;
  bool agrees(std::size_t server) const;
  // Returns how many servers count neither as a vote for the largest group nor as a refusal: they
  // failed, or their grants have other owners.
  std::size_t failures() const;

  // Returns the leader: the first server in the list that answered. nullopt: it is not known yet,
  // because a server before it in the list may still answer. A doubtful server is not waited for;
  // if `impatient`, no server is waited for.
  std::optional<std::size_t> leader(bool impatient) const;

  // Returns an error that ends the claim whatever the other servers say: bad usage, two URLs that
  // lead to one server, or an ancestor's hold that too many servers have lost.
  std::optional<Error> mistake() const;
  // Set if a server said that a recent successful run makes the claim needless (--once-per).
  const std::optional<Done>& done() const { return done_; }

  // Returns whether a majority recorded the same token for each hold of an ancestor that the claim
  // joins. votes() must not be 0.
  bool knows_tokens() const;
  // Returns the holds of the largest group of grants, with the token of each name that all servers
  // must record: the token that a majority has. If no majority has the same token, it is the
  // largest token or, for a hold of an ancestor that the claim joins, the most frequent one.
  // votes() must not be 0.
  Holds choose() const;

  // Returns the answer of each server that was asked.
  std::vector<Vote> words() const;
  // Returns one error for all servers that failed, as failed_servers() makes it.
  Error too_few(const std::string& what) const;

 private:
  std::size_t alike(const Holds& holds) const;
  struct Count {
    FencingToken token = 0;
    std::size_t votes = 0;
  };
  // Returns the most frequent token for one name of the claim; of equally frequent tokens the
  // first.
  Count commonest(std::size_t name) const;

  const Members& members_;
  std::vector<Seat> seats_;
  std::optional<Done> done_;
};

}  // namespace dlock::quorum
