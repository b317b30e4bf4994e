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
  bool doubtful = false;  // it did not answer the last request before this round
  bool possible = false;  // it may have granted
  bool silent = false;    // it has not answered within the limit
  bool raised = false;    // it has the chosen tokens
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

  // Grants count together if they are for the same owners: a nested claim may join a hold at some
  // servers and be a stranger at others. votes(): the largest number of such grants; agrees():
  // whether the server's grant is one of them.
  std::size_t votes() const;
  bool agrees(std::size_t server) const;
  // Servers that gave no vote and will give none.
  std::size_t failures() const;

  // The first server, in the order of the seats, that has granted or refused. nullopt: there is no
  // such server, or we wait for a server before it that was asked and has not answered yet. We do
  // not wait for a doubtful server (Seat::doubtful), and for no server if we are `impatient`.
  std::optional<std::size_t> leader(bool impatient) const;

  // An error that makes the claim pointless at all servers; also: a majority no longer knows the
  // hold above the claim.
  std::optional<Error> mistake() const;
  // The successful run that a server reports.
  const std::optional<Done>& done() const { return done_; }

  // Whether the token of each joined hold is known: a majority has recorded it. Needs a vote.
  bool knows_tokens() const;
  // The grant of most votes, with the tokens that all servers are to have: for each name the one
  // that a majority has recorded, else the largest, or for a joined hold the commonest. Needs a
  // vote.
  Holds choose() const;

  // What each asked server said.
  std::vector<Vote> words() const;
  // failed_servers() of the servers that failed.
  Error too_few(const std::string& what) const;

 private:
  std::size_t alike(const Holds& holds) const;
  struct Count {
    FencingToken token = 0;
    std::size_t votes = 0;
  };
  // The commonest token for one name of the claim, the first if there are several.
  Count commonest(std::size_t name) const;

  const Members& members_;
  std::vector<Seat> seats_;
  std::optional<Done> done_;
};

}  // namespace dlock::quorum
