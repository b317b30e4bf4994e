// SPDX-License-Identifier: MIT
// Ballot: how the servers of a quorum voted in one round of a claim, and what that means together.
// It decides nothing by time.
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
  failed,  // no answer, or one that is no verdict
};

struct Seat {
  Voted vote = Voted::unasked;
  bool doubtful = false;  // it did not answer the newest question before this round
  bool possible = false;  // it may have granted
  bool silent = false;    // it has not answered within the limit
  bool raised = false;    // it has the tokens of all
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

  // What a server was asked and answers.
  void asked(std::size_t server);
  void take(std::size_t server, const Result<AcquireReply>& answer);
  void fail(std::size_t server, Error error);

  // Grants count together if they are for the same owners: a nested claim may join a hold at some
  // servers and be a stranger at others. The largest number of such votes; and whether that of the
  // server is one of them.
  std::size_t votes() const;
  bool agrees(std::size_t server) const;
  // No vote, and none to come.
  std::size_t failures() const;

  // The first server that has answered; none is waited for that is doubtful, or if `impatient`.
  std::optional<std::size_t> leader(bool impatient) const;

  // What makes no sense anywhere; and a hold above the claim that a majority does not know any
  // more.
  std::optional<Error> mistake() const;
  // The run of which a server says that it has succeeded.
  const std::optional<Done>& done() const { return done_; }

  // A name whose hold is joined has the token of that hold: the one that a majority has recorded.
  // There is a vote.
  bool knows_tokens() const;
  // What most votes grant, with the tokens that all are to have: for each name the one that a
  // majority has recorded, else the largest, or of a joined hold the commonest. There is a vote.
  Holds choose() const;

  // The word of each server that was asked.
  std::vector<Vote> words() const;
  // failed_servers(), of those that failed.
  Error too_few(const std::string& what) const;

 private:
  std::size_t alike(const Holds& holds) const;
  struct Count {
    FencingToken token = 0;
    std::size_t votes = 0;
  };
  // The token that most votes have for one name of the claim, the first of several such.
  Count commonest(std::size_t name) const;

  const Members& members_;
  std::vector<Seat> seats_;
  std::optional<Done> done_;
};

}  // namespace dlock::quorum
