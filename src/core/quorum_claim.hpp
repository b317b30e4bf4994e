// SPDX-License-Identifier: MIT
// QuorumClaim: one round of a claim to a quorum. All servers are asked at the same time, each with
// the serial of this round and the token that it proposes. Granted is what a majority has granted,
// once a majority has one token of it: the one that it has granted, else the largest of the grants.
// So tokens grow from one majority to the next. The other servers answer later. The process of an
// acquire ends with the grant, so its claim gives them a moment more. A round without a majority
// releases its holds at all servers, also at those that have not answered.
//
// The leader, the first server that answers, decides between rivals. The claim that it refuses
// gives up at once, and waits in the line there. The claim that has its vote keeps what it has, and
// asks the others again a few times: its rivals are about to give up. Holders that the leader has
// had for longer than any rival decide nothing: a majority that grants shows that they are gone,
// and have left a part of their hold there. A leader that is slower than all others together is not
// waited for; exclusion never depends on it.
//
// A pure machine; its user ends it when outcome() is there, and passes what is answered later to
// Members::heard().
#pragma once

#include "core/backoff.hpp"
#include "core/quorum_ballot.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock::quorum {

struct ClaimTerms {
  Claim round;  // under the serial of this round
  Queueing queueing = Queueing::no;
  // Ask the leader first, and the others only if it grants: a waiter that shows that it lives.
  bool leader_first = false;
  Time limit;
};

class QuorumClaim {
 public:
  QuorumClaim(Members& members, ClaimTerms terms, Jitter& jitter, Time now);

  Asks start();
  // Of an ask of this machine, after Members::heard().
  Asks on_answer(const Ask& ask, const Answer& answer, Time now);
  Asks on_time(Time now);
  Time next_deadline() const;

  const std::optional<Result<AcquireReply>>& outcome() const { return outcome_; }
  // The user stops here: what was asked for is owed back.
  void abandon();
  // A server was asked, and the round was not granted: the next one needs another serial.
  bool used_up() const { return given_back_; }
  // The server in whose line the claim was asked to wait.
  std::size_t line() const { return line_; }

 private:
  enum class Phase { asking, raising, giving_back, over };

  Asks ask(std::size_t server);
  Asks ask_those(Voted vote);
  // It does not lead, and is not waited for, until it answers.
  void doubt(std::size_t server, Time until);
  Asks decide(Time now);
  Asks decide_by(std::size_t leader, Time now);
  Asks raise(Time now);
  Asks raise_at(std::size_t server);
  Asks decide_raised(Time now);
  Asks give_back(Result<AcquireReply> outcome, Time now);
  Asks granted();
  void end_if_given_back();
  void end();

  Members& members_;
  ClaimTerms terms_;
  Jitter& jitter_;
  Time started_at_;
  Time limit_;  // of each question
  std::size_t line_;
  bool alone_ = false;      // only the leader has been asked
  bool impatient_ = false;  // a silent leader is not waited for any more
  int tries_ = 0;           // with the vote of the leader
  Ballot ballot_;
  Phase phase_ = Phase::asking;
  Holds granted_;                 // whose owners most votes are for, with the tokens of all
  Time kept_until_;               // of a repetition: the lease that was granted before
  bool kept_;                     // it lives: whatever comes, it stays what it is
  std::optional<Time> patience_;  // until then
  std::optional<Time> retry_at_;
  bool given_back_ = false;
  std::optional<Result<AcquireReply>> pending_;  // until the servers have released the holds
  std::optional<Result<AcquireReply>> outcome_;
};

}  // namespace dlock::quorum
