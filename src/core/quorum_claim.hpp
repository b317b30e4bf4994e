// SPDX-License-Identifier: MIT
// QuorumClaim: one round of a claim to a quorum. All servers are asked at the same time, with the
// serial of this round and the token that it proposes. The claim is granted when a majority granted
// it with one token. If tokens differ, the largest is written to a majority first; so tokens grow
// from one majority to the next. Servers that answer later complete the hold. The process of an
// `acquire` ends with the grant, so its claim waits a moment for them. A round without a majority
// releases its holds at all servers, also at silent ones.
//
// The leader, the first server that answers, decides between rivals. A claim that it refuses gives
// up at once, and waits in the line there. A claim with its vote keeps what it has, and asks the
// other servers again a few times: its rivals are about to give up. A holder that the leader has
// had for longer than any rival takes decides nothing: a majority that grants shows that it is gone
// and has left a part of its hold there. A leader that is slower than all others together is not
// waited for; exclusion never depends on it.
//
// A pure machine; its user ends it when outcome() is there, and passes later answers to
// Members::heard().
#pragma once

#include "core/backoff.hpp"
#include "core/quorum_ballot.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock::quorum {

struct ClaimTerms {
  Claim round;  // the claim, with the serial of this round
  Queueing queueing = Queueing::no;
  // Ask the leader first, and the others only if it grants: the heartbeat of a waiter.
  bool leader_first = false;
  Time limit;
};

class QuorumClaim {
 public:
  QuorumClaim(Members& members, ClaimTerms terms, Jitter& jitter, Time now);

  Asks start();
  // Takes an answer to an ask of this machine, after Members::heard().
  Asks on_answer(const Ask& ask, const Answer& answer, Time now);
  Asks on_time(Time now);
  Time next_deadline() const;

  const std::optional<Result<AcquireReply>>& outcome() const { return outcome_; }
  // The user stops here: what the servers may have granted is owed back.
  void abandon();
  // A server was asked, and the round was not granted: the next round needs another serial.
  bool used_up() const { return given_back_; }
  // The server in whose line the claim was asked to wait.
  std::size_t line() const { return line_; }

 private:
  enum class Phase { asking, raising, giving_back, over };

  Asks ask(std::size_t server);
  Asks ask_those(Voted vote);
  // The server does not lead, and is not waited for, until it answers.
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
  Time limit_;  // of each request
  std::size_t line_;
  bool alone_ = false;      // only the leader has been asked
  bool impatient_ = false;  // a silent leader is no longer waited for
  int tries_ = 0;           // with the vote of the leader
  Ballot ballot_;
  Phase phase_ = Phase::asking;
  Holds granted_;    // the grant of most votes, with the chosen tokens
  Time kept_until_;  // of a repeated round: the end of the lease that was granted before
  bool kept_;        // that lease has not ended: the hold stays as it is
  std::optional<Time> patience_;  // how long we wait for more answers
  std::optional<Time> retry_at_;
  bool given_back_ = false;
  std::optional<Result<AcquireReply>> pending_;  // until the servers have released the holds
  std::optional<Result<AcquireReply>> outcome_;
};

}  // namespace dlock::quorum
