// SPDX-License-Identifier: MIT
// QuorumRenewal and QuorumRelease: renewing and releasing holds that a majority of servers granted.
// A renewal goes to all servers and is confirmed by a majority. Then the servers that have not
// granted the hold are asked to grant it, too, so that the hold survives the loss of another
// server. The hold is lost as soon as fewer than a majority can still have it. A release goes to
// all servers, including silent ones.
//
// Pure machines: the caller sends their asks, passes the answers to Members::heard() and then to
// the machine, and drops the machine when outcome() is set.
#pragma once

#include "core/quorum.hpp"

#include <optional>

namespace dlock::quorum {

class QuorumRenewal {
 public:
  // `what`: renew or check.
  QuorumRenewal(Members& members, Ask::What what, Holds holds, Time limit);

  Asks start();
  Asks on_answer(const Ask& ask, const Answer& answer, Time now);
  Asks on_time(Time now);
  Time next_deadline() const;
  // The reply's sent_at is a time after which a majority was asked: after a renewal it is
  // Members::sent_at(), after a check it is computed from the answers to the check.
  const std::optional<Result<RenewReply>>& outcome() const { return outcome_; }

 private:
  enum class Seat { absent, asked, ours, revoked, lost, failed };
  Asks decide(Time now);
  Asks complete();
  void take_loss(const RenewReply& reply);
  std::size_t count(Seat seat) const;

  Members& members_;
  Ask::What what_;
  Holds holds_;
  Time limit_;
  // Once a majority has confirmed a check: until when the check still waits for the other servers,
  // one of which may be the server whose changes we watch.
  std::optional<Time> patience_;
  bool impatient_ = false;
  std::vector<Seat> seats_;
  std::vector<Time> heard_at_;  // send times of the requests that confirmed the hold
  std::optional<RenewReply> revoked_;
  std::optional<RenewReply> lost_;
  std::optional<Error> error_;
  std::optional<Result<RenewReply>> outcome_;
};

class QuorumRelease {
 public:
  QuorumRelease(Members& members, Holds holds, ReleaseOptions options, Time now, Time limit);

  Asks start();
  Asks on_answer(const Ask& ask, const Answer& answer, Time now);
  Asks on_time(Time now);
  Time next_deadline() const;
  // Set when a majority of the servers has released and the other servers had time to answer. An
  // error: no majority has released in time.
  const std::optional<Result<ReleaseVerdict>>& outcome() const { return outcome_; }

 private:
  bool is_ours(const Ask& ask) const;
  void decide(Time now, bool last);
  ReleaseVerdict verdict() const;

  Members& members_;
  Holds holds_;
  ReleaseOptions options_;
  Time started_at_;
  Time limit_;
  std::optional<Time> patience_;  // end of the wait for the other servers
  std::vector<std::optional<Result<ReleaseVerdict>>> seats_;
  std::optional<Result<ReleaseVerdict>> outcome_;
};

}  // namespace dlock::quorum
