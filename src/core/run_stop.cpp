// SPDX-License-Identifier: MIT
// The part of a RunSession that stops the child: because of the lease, because its time is up, and
// the KILL when TERM did not help. Who asked for it is told apart by the outcome only.
#include "core/run_session.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

// --- the lease -------------------------------------------------------------------------------

std::optional<Time> RunSession::lapses_at() const {
  if (!terms_.renew || lease_stop_ || warned_) return {};
  return clock_->term_at();
}

void RunSession::check_lease(Time now) {
  if (now < lapses_at().value_or(Time::max())) return;
  lease_gone({.kind = Notice::Kind::lapsing,
              .text = trouble_,
              .span = clock_->safe_until() - now,
              .kill = reason_to_kill(now)},
             clock_->kill_at(),
             now);
}

void RunSession::lease_gone(Notice notice, Time kill_at, Time now) {
  if (warned_) return;
  summary_.lost = true;
  // Learnt again, or better: that can only bring the KILL forward.
  if (lease_stop_) return stop_.begin(std::min(kill_at, clock_->kill_at()));
  if (terms_.on_lost == OnLost::warn) {
    warned_ = true;
    notice.kind = Notice::Kind::lost_warn;
    return say(std::move(notice));
  }
  lease_stop_ = true;
  const KillReason why = notice.kill;
  say(std::move(notice));
  const bool first = !stop_.stopping();
  stop_.begin(std::min(kill_at, clock_->kill_at()), why);
  // A child that slept through its lease must not run another instruction: no TERM then.
  if (first && !stop_.kill_due(now)) signal_group(terms_.stop_signal, true);
}

// --- the time ---------------------------------------------------------------------------------

std::optional<Time> RunSession::time_up_at() const {
  if (time_up_) return {};
  std::optional<Time> at;
  if (terms_.max_hold > 0ns) at = *granted_at_ + terms_.max_hold;
  if (!terms_.renew) at = std::min(at.value_or(Time::max()), clock_->term_at());
  return at;
}

// Also under on_lost=warn: this is nobody's fault, but what was asked for.
void RunSession::check_time(Time now) {
  if (now < time_up_at().value_or(Time::max())) return;
  const bool lease_over = !terms_.renew && now >= clock_->term_at();
  time_up_ = true;
  time_stop_ = !stop_.stopping();  // otherwise it ends for another reason, and no later than this
  const bool fixed_lease_ends = time_stop_ && !terms_.renew;
  const KillReason why = fixed_lease_ends ? reason_to_kill(now) : KillReason::grace_over;
  if (time_stop_) {
    say({.kind = Notice::Kind::time_up, .span = lease_over ? 0ns : terms_.max_hold, .kill = why});
  }
  const Time kill_at = now + terms_.lease.kill_after();
  stop_.begin(terms_.renew ? kill_at : std::min(kill_at, clock_->kill_at()), why);
  if (time_stop_ && !stop_.kill_due(now)) signal_group(terms_.stop_signal, true);
}

// --- both -------------------------------------------------------------------------------------

KillReason RunSession::reason_to_kill(Time now) const {
  return now >= clock_->safe_until() ? KillReason::lapsed : KillReason::grace_over;
}

void RunSession::signal_group(int number, bool wake, Notice::Kind kind) {
  say({.kind = kind, .signal = number});
  actions_.push_back(action::SignalGroup{number, wake});
}

void RunSession::kill_if_due(Time now) {
  if (!stop_.kill_due(now)) return;
  say({.kind = stop_.kill_sent() ? Notice::Kind::cannot_kill : Notice::Kind::killed,
       .kill = stop_.why()});
  stop_.killed(now);
  actions_.push_back(action::SignalGroup{SIGKILL});
}

// The second executioner holds the deadline of the first (faults.md 2.3-7): the end of the lease,
// or sooner once a verdict was against us or the time is up.
Time RunSession::guard_due() const {
  const bool warns = terms_.on_lost == OnLost::warn && terms_.renew;
  const Time at = warns ? Time::max() : clock_->kill_at();
  return lease_stop_ || time_stop_ ? std::min(at, stop_.next().value_or(at)) : at;
}

void RunSession::move_guard() {
  if (stop_.kill_sent() || guard_due() == guard_at_) return;
  guard_at_ = guard_due();
  actions_.push_back(action::SetGuard{guard_at_});
}

}  // namespace dlock
