// SPDX-License-Identifier: MIT
// QuorumClaim: one round of a claim to a quorum. In a round all servers are asked at the same time,
// with the same serial and the same proposed token. The claim is granted when a majority granted it
// with one token. If tokens differ, the largest is written to a majority first; so tokens grow from
// one majority to the next. Servers that answer later complete the hold. The process of an
// `acquire` ends with the grant, so its claim waits a moment for those servers. A round without a
// majority releases its holds at all servers, including those that have not answered.
//
// The leader is the first server in the list that answers. It decides between rival claims. A claim
// that the leader refuses gives up at once and waits in the leader's line. A claim that the leader
// grants keeps its votes and asks the other servers again a few times, because its rivals are about
// to give up. But the leader may refuse because of an old hold that a majority no longer has. If
// that hold is older than any rival claim can be, and a majority grants, the claim is granted. A
// leader that is much slower than the other servers is not waited for. Exclusion never depends on
// the leader.
//
// A pure machine. Its caller drops it when outcome() is set, and passes later answers to
// Members::heard() alone.
#pragma once

#include "core/backoff.hpp"
#include "core/quorum_ballot.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock::quorum {

struct ClaimTerms {
  Claim round;  // with this round's serial
  Queueing queueing = Queueing::no;
  // For a waiter's heartbeat: the leader is asked first. The other servers are asked only if the
  // leader grants or fails, or if they may know that the leader's refusal is out of date.
  bool leader_first = false;
  Time limit;
};

class QuorumClaim {
 public:
  QuorumClaim(Members& members, ClaimTerms terms, Jitter& jitter, Time now);

  Asks start();
  // Handles the answer to an ask of this machine. The caller must have passed it to
  // Members::heard() before.
  Asks on_answer(const Ask& ask, const Answer& answer, Time now);
  Asks on_time(Time now);
  Time next_deadline() const;

  const std::optional<Result<AcquireReply>>& outcome() const { return outcome_; }
  // Ends the round before it has an outcome. Each server that may have granted the claim then owes
  // the release of that grant (Members::owe), unless the claim still has the lease of an earlier
  // grant.
  void abandon();
  // Returns whether the next round needs a new serial: this round failed, and a server may have
  // granted the claim, and has to release that grant.
  bool used_up() const { return given_back_; }
  // Returns the server whose line the claim asked to join.
  std::size_t line() const { return line_; }

 private:
  enum class Phase { asking, raising, giving_back, over };

  Asks ask(std::size_t server);
  Asks ask_those(Voted vote);
  // Notes that the server did not answer: until it answers, it cannot lead and is not waited for.
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
  int tries_ = 0;           // how often the claim had the leader's vote but no majority
  Ballot ballot_;
  Phase phase_ = Phase::asking;
  Holds granted_;                 // the holds that most votes grant, with the chosen tokens
  Time kept_until_;               // if this serial was granted before: the end of that lease
  bool kept_;                     // at the start that lease had not ended: its hold is not released
  std::optional<Time> patience_;  // end of the wait for more answers
  std::optional<Time> retry_at_;
  bool given_back_ = false;
  std::optional<Result<AcquireReply>> pending_;  // the outcome, while servers release the holds
  std::optional<Result<AcquireReply>> outcome_;
};

}  // namespace dlock::quorum
