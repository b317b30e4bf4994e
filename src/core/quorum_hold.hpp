// SPDX-License-Identifier: MIT
// QuorumRenewal and QuorumRelease: what the servers of a quorum say about holds that a majority has
// granted. A renewal goes to all servers, and is confirmed by a majority of them; then the servers
// without a part of the hold are asked to grant theirs, so that the loss of one more server costs
// nothing. The holds are lost as soon as fewer than a majority can be ours. A release goes to all
// servers, also to silent ones.
//
// Pure machines, used as QuorumClaim is.
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
  // RenewReply::sent_at is the majority's: Members::sent_at().
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
  std::optional<Time> patience_;  // of a check: the watched server may be in the minority
  bool impatient_ = false;
  std::vector<Seat> seats_;
  std::vector<Time> heard_at_;  // send times of the requests that were answered well
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
  // Released when a majority has no part of the hold left, and the others had time to answer.
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
  std::optional<Time> patience_;  // for the minority
  std::vector<std::optional<Result<ReleaseVerdict>>> seats_;
  std::optional<Result<ReleaseVerdict>> outcome_;
};

}  // namespace dlock::quorum
