// SPDX-License-Identifier: MIT
// ReleaseLoop: the policy of leaving nothing behind in the store: releases a hold, undoes a claim
// that may have been granted, or takes a claim out of the line. A release that gets no answer is
// repeated while that may help.
//
// A pure machine, like AcquireLoop: each call passes an event and its time, and returns the next
// step. It promises that `over` comes once and last, also if the store never answers.
#pragma once

#include "core/ask.hpp"
#include "core/lease_keeper.hpp"
#include "core/notice.hpp"

#include <optional>
#include <string>

namespace dlock {

// What became of a hold at the end.
enum class Released {
  nothing,  // there was nothing to release
  yes,
  no,       // the lease had been lost before
  unknown,  // no answer: the lock is free when the lease ends, at the latest
};

struct ReleaseTerms {
  Duration call_limit{};       // the lease's
  Duration connect_timeout{};  // how long a release is repeated, at most
};

// A hold to release.
struct ReleaseOrder {
  LeaseKeeper::Standing standing = LeaseKeeper::Standing::ours;
  Time safe_until;                      // the end of the lease
  bool told_lost = false;               // the user knows that the lease ends
  std::optional<Time> keep_until = {};  // for ReleaseOptions::keep
  Duration tell_for{};                  // for ReleaseOptions::tell_for
};

// A claim that was given up.
struct DroppedClaim {
  bool maybe_held = false;           // an answer was lost
  Queueing queueing = Queueing::no;  // as in its last acquire
  Duration slowest_answer{};         // WaitLoop::slowest_answer
};

// The next step: first the notice; then cancel the ask that is out, or ask. `over`: the end.
struct ReleaseStep {
  std::optional<Notice> notice = {};
  bool cancel = false;
  std::optional<action::Ask> ask = {};
  bool over = false;
};

class ReleaseLoop {
 public:
  explicit ReleaseLoop(const ReleaseTerms& terms) : terms_(terms) {}

  // An ask is still out: its answer is awaited, but not for long. Then drop_claim() or release().
  ReleaseStep cancel(Time now);
  // For a claim that was not granted as far as we know.
  ReleaseStep drop_claim(const DroppedClaim& claim, Time now);
  ReleaseStep release(const ReleaseOrder& order, Time now);

  std::optional<Time> next_deadline() const;
  ReleaseStep on_time(Time now);
  ReleaseStep on_released(const Result<ReleaseVerdict>& answer, Time now);
  // A signal came: a second is left.
  void hurry(Time now);

  Released released() const { return released_; }
  // Only the release has shown that the hold was not ours any more.
  bool lost() const { return lost_; }

 private:
  ReleaseStep ask(action::Ask ask);
  ReleaseStep ask_release(Time now);
  ReleaseStep unknown(const std::string& why, Time now);
  ReleaseStep take(ReleaseVerdict verdict);

  ReleaseTerms terms_;
  std::optional<ReleaseOrder> order_;  // nothing: a claim is dropped
  bool leaving_ = false;               // only the line is left: nothing can be held
  std::optional<Time> answer_due_;     // an ask is out
  bool overdue_ = false;  // its answer was not there when due, and is waited for once more
  Time until_;
  std::optional<Time> retry_at_;
  bool repeated_ = false;
  Released released_ = Released::nothing;
  bool lost_ = false;
};

}  // namespace dlock
