// SPDX-License-Identifier: MIT
#include "core/stop_plan.hpp"

#include "core/earliest.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// From TERM to KILL for leftovers. The command itself has kill_after.
constexpr Duration k_grace_for_leftovers = 500ms;
constexpr Duration k_kill_again_after = 1s;

KillReason reason_to_kill(const LeaseClock& clock, Time now) {
  return now >= clock.safe_until() ? KillReason::lapsed : KillReason::grace_over;
}

}  // namespace

bool StopPlan::kill_due(Time now) const {
  return is_due(kill_at_, now);
}

std::optional<Time> StopPlan::next_deadline(const LeaseClock& clock) const {
  return earliest({lapses_at(clock), time_up_at(clock), kill_at_});
}

// --- the lease -------------------------------------------------------------------------------

std::optional<Time> StopPlan::lapses_at(const LeaseClock& clock) const {
  if (!terms_.renew || lease_over_) return {};
  return clock.term_at();
}

StopStep StopPlan::check_lease(const LeaseClock& clock, const std::string& trouble, Time now) {
  if (!is_due(lapses_at(clock), now)) return {};
  return lease_gone({.kind = Notice::Kind::lapsing,
                     .text = trouble,
                     .span = clock.safe_until() - now,
                     .kill = reason_to_kill(clock, now)},
                    clock.kill_at(),
                    clock,
                    now);
}

StopStep StopPlan::lose_lease(Notice notice, Duration grace, const LeaseClock& clock, Time now) {
  return lease_gone(std::move(notice), now + grace, clock, now);
}

StopStep StopPlan::lease_gone(Notice notice, Time kill_at, const LeaseClock& clock, Time now) {
  if (warned()) return {};
  lease_over_ = true;
  if (terms_.on_lost == OnLost::warn) {
    notice.runs_on = true;
    return {.notice = std::move(notice)};
  }
  const bool again = std::exchange(reason_, StopReason::lease) == StopReason::lease;
  const bool first = !stopping();
  begin(std::min(kill_at, clock.kill_at()), again ? KillReason::grace_over : notice.kill);
  if (again) return {};
  // A child that was frozen until after the lease must run no further instruction, so it gets no
  // TERM.
  return {.notice = std::move(notice), .signal = first && !kill_due(now)};
}

// --- the time ---------------------------------------------------------------------------------

std::optional<Time> StopPlan::time_up_at(const LeaseClock& clock) const {
  if (time_over_) return {};
  std::optional<Time> at;
  if (terms_.max_hold > 0ns) at = granted_at_ + terms_.max_hold;
  if (!terms_.renew) at = std::min(at.value_or(Time::max()), clock.term_at());
  return at;
}

// Stops the command if its time is up, even if on_lost is warn: the end of the time is no fault but
// the user's wish.
StopStep StopPlan::check_time(const LeaseClock& clock, Time now) {
  if (!is_due(time_up_at(clock), now)) return {};
  time_over_ = true;
  // False: a stop for another reason has already begun. begin() moves its KILL only to an earlier
  // time.
  const bool first = !stopping();
  const bool lease_ends = !terms_.renew && now >= clock.term_at();
  const KillReason why =
      first && !terms_.renew ? reason_to_kill(clock, now) : KillReason::grace_over;
  const Time kill_at = now + terms_.kill_after;
  begin(terms_.renew ? kill_at : std::min(kill_at, clock.kill_at()), why);
  if (!first) return {};
  reason_ = StopReason::time;
  return {.notice = Notice{.kind = Notice::Kind::time_up,
                           .span = lease_ends ? 0ns : terms_.max_hold,
                           .kill = why},
          .signal = !kill_due(now)};
}

// --- any reason -------------------------------------------------------------------------------

bool StopPlan::end_by_user(int signal, Time now) {
  if (user_signal_ != 0) {
    begin(now, KillReason::second_signal);
    return false;
  }
  if (!stopping()) reason_ = StopReason::user;
  begin(now + terms_.kill_after);
  user_signal_ = signal;
  return true;
}

void StopPlan::end_leftovers(Time now) {
  if (stopping()) return;
  reason_ = StopReason::leftovers;
  begin(now + k_grace_for_leftovers);
}

void StopPlan::begin(Time kill_at, KillReason why) {
  if (kill_at_ && *kill_at_ <= kill_at) return;
  kill_at_ = kill_at;
  why_ = why;
}

Notice StopPlan::kill(Time now) {
  const auto kind = kill_sent() ? Notice::Kind::cannot_kill : Notice::Kind::killed;
  ++kills_;
  kill_at_ = now + k_kill_again_after;
  return {.kind = kind, .kill = why_};
}

// Returns the deadline of the guard. It is the time of our own KILL (rule 7): before the end of the
// lease, or sooner after a verdict against the hold or when max_hold is over. A KILL for another
// reason does not move it.
Time StopPlan::guard_due(const LeaseClock& clock) const {
  const bool warns = terms_.on_lost == OnLost::warn && terms_.renew;
  const Time at = warns ? Time::max() : clock.kill_at();
  return by_lock() ? std::min(at, kill_at_.value_or(at)) : at;
}

Time StopPlan::start_guard(const LeaseClock& clock) {
  guard_at_ = guard_due(clock);
  return guard_at_;
}

std::optional<Time> StopPlan::move_guard(const LeaseClock& clock) {
  if (kill_sent() || guard_due(clock) == guard_at_) return {};
  return start_guard(clock);
}

}  // namespace dlock
