// SPDX-License-Identifier: MIT
// ReleaseLoop: the policy of leaving nothing behind in the store. It releases a hold, undoes a
// claim that may have been granted, or takes a claim out of the line. A release (but not an undo)
// that got no answer is repeated for a limited time.
//
// A pure machine, like AcquireLoop: each call passes an event and its time, and returns the next
// step. It promises that `over` comes once and last, even if the store never answers.
#pragma once

#include "core/ask.hpp"
#include "core/lease_keeper.hpp"
#include "core/notice.hpp"

#include <optional>
#include <string>

namespace dlock {

// How a hold ended.
enum class Released {
  nothing,  // there was nothing to release
  yes,
  no,       // the lease had been lost before
  unknown,  // no answer: the lock is free when the lease ends, or earlier
};

struct ReleaseTerms {
  Duration call_limit{};       // limit of one renewal; a try to release has no more time
  Duration connect_timeout{};  // how long a release is repeated, at most
};

// A hold to release.
struct ReleaseOrder {
  LeaseKeeper::Standing standing = LeaseKeeper::Standing::ours;
  Time safe_until;                      // until then the lease is certain (lease.hpp)
  bool told_lost = false;               // the user has been told that the lease is over
  std::optional<Time> keep_until = {};  // --min-hold: the name stays taken until then
  Duration tell_for{};                  // --once-per: for how long the success is remembered
  std::optional<RunEnd> end = {};       // --keep-last: how the run ended
  Time granted_at;                      // with `end`
};

// A claim that was given up.
struct DroppedClaim {
  bool maybe_held = false;           // a try got no answer: it may have been granted
  Queueing queueing = Queueing::no;  // how the newest try waits in line
  Duration slowest_answer{};         // the longest time that an answer to a try took
};

// The next step: the notice is reported first; then the unanswered ask is cancelled, or a new ask
// is sent. `over`: nothing more follows.
struct ReleaseStep {
  std::optional<Notice> notice = {};
  bool cancel = false;
  std::optional<action::Ask> ask = {};
  bool over = false;
};

class ReleaseLoop {
 public:
  explicit ReleaseLoop(const ReleaseTerms& terms) : terms_(terms) {}

  // The previous ask is unanswered: cancels it and waits a short time for its answer. Then call
  // drop_claim() or release().
  ReleaseStep cancel(Time now);
  // Undoes a claim of which no grant is known, or takes it out of the line.
  ReleaseStep drop_claim(const DroppedClaim& claim, Time now);
  ReleaseStep release(const ReleaseOrder& order, Time now);

  std::optional<Time> next_deadline() const;
  ReleaseStep on_time(Time now);
  ReleaseStep on_released(const Result<ReleaseVerdict>& answer, Time now);
  // Called when a signal has arrived: after another second no new try begins.
  void hurry(Time now);

  Released released() const { return released_; }
  // Returns whether the release found that the hold was no longer ours.
  bool lost() const { return lost_; }

 private:
  ReleaseStep ask(action::Ask ask);
  ReleaseStep ask_release(Time now);
  ReleaseStep unknown(const std::string& why, Time now);
  ReleaseStep take(ReleaseVerdict verdict);

  ReleaseTerms terms_;
  std::optional<ReleaseOrder> order_;  // nullopt: a claim is dropped
  bool leaving_ = false;               // nothing can be held: the claim only leaves the line
  std::optional<Time> answer_due_;     // the limit of the unanswered ask, if any
  bool overdue_ = false;               // the answer is overdue, and gets a second time to arrive
  Time until_;
  std::optional<Time> retry_at_;
  bool repeated_ = false;
  Released released_ = Released::nothing;
  bool lost_ = false;
};

}  // namespace dlock
