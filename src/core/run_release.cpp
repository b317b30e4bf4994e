// SPDX-License-Identifier: MIT
// The end of a RunSession: the release, repeated while it may help, and what is told of the run.
#include "core/run_session.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

constexpr Duration k_release_limit = 1s;  // of one try: the child is gone, nobody needs the lease
constexpr Duration k_release_pause = 100ms;

}  // namespace

void RunSession::begin_release(Time now) {
  phase_ = Phase::releasing;
  // Also when it took only what the command had left behind: that was part of the job.
  if (outcome_.kind == Outcome::Kind::child) {
    if (time_stop_) outcome_.kind = Outcome::Kind::time_up;
    if (lease_stop_) outcome_.kind = Outcome::Kind::lost;
  }
  if (not_ours_ && !some_left_) {
    summary_.released = RunSummary::Released::no;
    return finish(now);
  }
  const Time lease_end =
      std::max(clock_ ? clock_->safe_until() : now, now + terms_.lease.call_limit());
  release_until_ = std::min(now + terms_.acquire.connect_timeout, lease_end);
  ask_release(now);
}

// A name that was not ours to the end is not kept for anybody, nor one under which nothing ran.
ReleaseOptions RunSession::release_options(Time now) const {
  const bool ended =
      outcome_.kind == Outcome::Kind::child || outcome_.kind == Outcome::Kind::time_up;
  if (!ended || outcome_.child.kind == ChildStatus::Kind::not_started) return {};
  ReleaseOptions options;
  if (!summary_.lost) options.keep = std::max(*granted_at_ + terms_.min_hold - now, Duration{});
  const bool succeeded = outcome_.child == ChildStatus{ChildStatus::Kind::exited, 0};
  if (succeeded && outcome_.kind == Outcome::Kind::child) options.tell_for = terms_.once_per;
  return options;
}

void RunSession::ask_release(Time now) {
  retry_release_at_.reset();
  ask({.what = action::Ask::What::release,
       .limit = now + std::min(terms_.lease.call_limit(), k_release_limit),
       .release_options = release_options(now)});
}

void RunSession::handle(event::Released& event, Time now) {
  asking_ = false;
  if (phase_ != Phase::releasing) return;
  if (leaving_) return finish(now);
  if (event.answer) {
    take_release(*event.answer);
    return finish(now);
  }
  release_repeated_ = true;
  if (now + k_release_pause < release_until_) {
    retry_release_at_ = now + k_release_pause;
    return;
  }
  release_unknown(event.answer.error().text, now);
}

void RunSession::release_unknown(const std::string& why, Time now) {
  summary_.released = RunSummary::Released::unknown;
  // Who was told of the loss knows that the lease ends.
  if (clock_ && (clock_->safe_until() > now || !summary_.lost)) {
    say({.kind = Notice::Kind::release_unknown,
         .text = why,
         .span = std::max(clock_->safe_until() - now, Duration{})});
  }
  finish(now);
}

void RunSession::take_release(ReleaseVerdict verdict) {
  // "Nothing of ours" is what an undo hopes for, and what a repetition finds after its first try.
  if (verdict == ReleaseVerdict::not_held && (!release_repeated_ || not_ours_)) {
    summary_.released = RunSummary::Released::no;
    if (!summary_.lost) say({.kind = Notice::Kind::lost_at_release});
    summary_.lost = true;
  } else if (verdict != ReleaseVerdict::not_held || granted_at_) {
    summary_.released = RunSummary::Released::yes;
    say({.kind = Notice::Kind::released});
  }
}

void RunSession::finish(Time now) {
  phase_ = Phase::finished;
  summary_.waited = granted_at_.value_or(now) - wait_.acquire().started_at();
  if (granted_at_) summary_.held = now - *granted_at_;
  outcome_.summary = std::move(summary_);
  actions_.push_back(action::Finish{std::move(outcome_)});
}

}  // namespace dlock
