// SPDX-License-Identifier: MIT
// StopPlan: the policy of stopping a run's command. There is one stop, whatever the reason: the
// first signal, then KILL at a deadline. A second reason can only make the KILL earlier.
//
// A pure machine: each call passes an event and its time, and returns the next step. It promises
// that
// - a command whose lease cannot be kept is killed before the lease can end (unless on_lost is
//   warn);
// - if the lease or max_hold is the reason, the guard's deadline is never later than our own KILL;
// - KILL is repeated every second while the command lives.
#pragma once

#include "base/boot_clock.hpp"
#include "core/child_status.hpp"
#include "core/lease.hpp"
#include "core/notice.hpp"

#include <optional>
#include <string>

namespace dlock {

enum class OnLost { stop, warn };

enum class StopReason {
  none,
  user,       // TERM or INT came
  leftovers,  // the command ended, other processes of its group did not
  time,       // max_hold is over, or a lease that is not renewed is about to end
  lease,      // lost, revoked or not renewed in time; overrides the other reasons
};

struct StopTerms {
  Duration kill_after;  // from the first signal to KILL
  OnLost on_lost = OnLost::stop;
  bool renew = true;    // false: no renewal; the command is stopped before the lease ends
  Duration max_hold{};  // from the grant to the first signal; zero: no limit
};

// The next step: the notice is reported first, then the first signal is sent.
struct StopStep {
  std::optional<Notice> notice = {};
  bool signal = false;
};

class StopPlan {
 public:
  explicit StopPlan(const StopTerms& terms) : terms_(terms) {}

  // Notes the grant; `max_hold` counts from here.
  void granted(Time now) { granted_at_ = now; }

  // Returns the next time at which the lease cannot be kept any more, max_hold is over, or KILL is
  // due.
  std::optional<Time> next_deadline(const LeaseClock& clock) const;

  // Stops the command if the lease is about to end although it should have been renewed. `trouble`:
  // why it was not renewed.
  StopStep check_lease(const LeaseClock& clock, const std::string& trouble, Time now);
  // Stops the command if max_hold is over, or if a lease that is not renewed is about to end.
  StopStep check_time(const LeaseClock& clock, Time now);
  // Stops the command after a verdict, which `notice` reports; KILL follows after `grace` at the
  // latest.
  StopStep lose_lease(Notice notice, Duration grace, const LeaseClock& clock, Time now);
  // Handles TERM or INT from the user. Returns whether the signal goes to the command; a second
  // signal makes KILL due at once instead.
  bool end_by_user(int signal, Time now);
  void end_leftovers(Time now);

  bool kill_due(Time now) const;
  // Notes that KILL is sent now, and returns its notice. KILL is repeated if the command survives
  // it (in an uninterruptible sleep, or because it runs as another user).
  Notice kill(Time now);

  StopReason reason() const { return reason_; }
  bool stopping() const { return kill_at_.has_value(); }
  bool by_lock() const { return reason_ == StopReason::lease || reason_ == StopReason::time; }
  bool lease_over() const { return lease_over_; }  // the lease could not be kept
  bool warned() const { return lease_over_ && terms_.on_lost == OnLost::warn; }
  int user_signal() const { return user_signal_; }  // the TERM or INT that was passed on; 0: none
  bool kill_sent() const { return kills_ > 0; }
  // Returns whether the command still lives a second after a KILL: for now it cannot be killed.
  bool survived_kill() const { return kills_ > 1; }

  // start_guard() returns the first deadline of the guard. move_guard() returns a new one; nullopt:
  // it has not changed. Time::max(): no deadline.
  Time start_guard(const LeaseClock& clock);
  std::optional<Time> move_guard(const LeaseClock& clock);

 private:
  std::optional<Time> lapses_at(const LeaseClock& clock) const;
  std::optional<Time> time_up_at(const LeaseClock& clock) const;
  Time guard_due(const LeaseClock& clock) const;
  StopStep lease_gone(Notice notice, Time kill_at, const LeaseClock& clock, Time now);
  void begin(Time kill_at, KillReason why = KillReason::grace_over);

  StopTerms terms_;
  Time granted_at_;
  StopReason reason_ = StopReason::none;
  bool lease_over_ = false;  // the lease could not be kept, and the user was told
  bool time_over_ = false;   // the time is up, and the user was told or a stop had already begun
  int user_signal_ = 0;
  std::optional<Time> kill_at_;  // during a stop: the time of the next KILL
  KillReason why_ = KillReason::grace_over;
  int kills_ = 0;
  Time guard_at_ = Time::max();
};

}  // namespace dlock
