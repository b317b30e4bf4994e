// SPDX-License-Identifier: MIT
#include "core/release_loop.hpp"

#include "core/earliest.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

using What = action::Ask::What;
using Standing = LeaseKeeper::Standing;

// The limit of one try to release. The child is gone, so no renewal waits behind this try.
constexpr Duration k_release_limit = 1s;
constexpr Duration k_release_pause = 100ms;
constexpr Duration k_release_when_signalled = 1s;
// The limit of an undo after a timeout or a signal: dlock promises to end within 200 ms then. For a
// store that has answered slowly the limit is longer, because a lock that is left behind is worse
// than a late end.
constexpr Duration k_undo_least = 150ms;
constexpr Duration k_undo_most = 1s;
// The limit of an undo is the time of the slowest answer so far, multiplied by this: an undo may
// have to connect anew and commit.
constexpr int k_undo_answers = 3;
// A call that hangs in the kernel, on a dead file system, is abandoned with its thread this long
// after its limit. The time is waited twice, because dlock may have been frozen the first time.
constexpr Duration k_overdue = 1500ms;

}  // namespace

ReleaseStep ReleaseLoop::cancel(Time now) {
  answer_due_ = now;
  return {.cancel = true};
}

ReleaseStep ReleaseLoop::drop_claim(const DroppedClaim& claim, Time now) {
  answer_due_.reset();
  leaving_ = !claim.maybe_held;
  if (leaving_ && claim.queueing == Queueing::no) return {.over = true};
  until_ = now;  // no second try
  repeated_ = true;
  return ask(
      {.what = leaving_ ? What::leave : What::undo,
       .limit = now + std::clamp(claim.slowest_answer * k_undo_answers, k_undo_least, k_undo_most),
       .queueing = claim.queueing});
}

ReleaseStep ReleaseLoop::release(const ReleaseOrder& order, Time now) {
  order_ = order;
  if (order.standing == Standing::lost) {
    released_ = Released::no;
    return {.over = true};
  }
  const Time lease_end = std::max(order.safe_until, now + terms_.call_limit);
  until_ = std::min(now + terms_.connect_timeout, lease_end);
  return ask_release(now);
}

ReleaseStep ReleaseLoop::ask_release(Time now) {
  retry_at_.reset();
  ReleaseOptions options{.tell_for = order_->tell_for};
  if (order_->end) {
    options.end = order_->end;
    options.end->held = now - order_->granted_at;
  }
  if (order_->keep_until) options.keep = std::max(*order_->keep_until - now, Duration{});
  return ask({.what = What::release,
              .limit = now + std::min(terms_.call_limit, k_release_limit),
              .release_options = options});
}

ReleaseStep ReleaseLoop::ask(action::Ask ask) {
  answer_due_ = ask.limit;
  overdue_ = false;
  return {.ask = ask};
}

std::optional<Time> ReleaseLoop::next_deadline() const {
  return answer_due_ ? *answer_due_ + k_overdue : retry_at_;
}

ReleaseStep ReleaseLoop::on_time(Time now) {
  if (!is_due(next_deadline(), now)) return {};
  if (!answer_due_) return ask_release(now);
  if (std::exchange(overdue_, true)) return unknown("the store does not answer at all", now);
  answer_due_ = now;
  return {};
}

ReleaseStep ReleaseLoop::on_released(const Result<ReleaseVerdict>& answer, Time now) {
  answer_due_.reset();
  if (leaving_) return {.over = true};
  if (answer) return take(*answer);
  repeated_ = true;
  if (now + k_release_pause >= until_) return unknown(answer.error().text, now);
  retry_at_ = now + k_release_pause;
  return {};
}

void ReleaseLoop::hurry(Time now) {
  until_ = std::min(until_, now + k_release_when_signalled);
}

ReleaseStep ReleaseLoop::unknown(const std::string& why, Time now) {
  released_ = Released::unknown;
  ReleaseStep step{.over = true};
  // A user who was told that the lease is lost needs no notice of an unknown release, once the
  // lease has ended.
  if (order_ && (order_->safe_until > now || !order_->told_lost)) {
    step.notice = Notice{.kind = Notice::Kind::release_unknown,
                         .text = why,
                         .span = std::max(order_->safe_until - now, Duration{})};
  }
  return step;
}

ReleaseStep ReleaseLoop::take(ReleaseVerdict verdict) {
  ReleaseStep step{.over = true};
  const bool known_lost = order_ && order_->standing == Standing::partly_lost;
  // not_held means that the lease was lost, except where not_held is expected: an undo may find no
  // hold of ours, and so may a repeated release whose first try succeeded.
  if (verdict == ReleaseVerdict::not_held && (!repeated_ || known_lost)) {
    released_ = Released::no;
    if (!order_->told_lost) step.notice = Notice{.kind = Notice::Kind::lost_at_release};
    lost_ = true;
  } else if (verdict != ReleaseVerdict::not_held || order_) {
    released_ = Released::yes;
    step.notice = Notice{.kind = Notice::Kind::released};
  }
  return step;
}

}  // namespace dlock
