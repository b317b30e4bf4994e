// SPDX-License-Identifier: MIT
// StopPlan: the policy of stopping the command of a run. There is one stop, whatever the reason:
// the first signal, and KILL at a deadline. A second reason can only bring the KILL forward.
//
// A pure machine: each call passes an event and its time, and returns the next step. It promises
// that
//   - a command whose lease cannot be kept is killed before the lease can end (unless on_lost is
//   warn);
//   - the guard's deadline is never later than that, nor than a KILL because of lease or time;
//   - KILL is repeated every second while the command lives.
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
  leftovers,  // the command has ended, other processes of its group have not
  time,       // max_hold, or the end of a lease that is not renewed
  lease,      // lost, revoked, or not renewed in time; outranks the others
};

struct StopTerms {
  Duration kill_after;  // from the first signal to KILL
  OnLost on_lost = OnLost::stop;
  bool renew = true;    // false: the lease ends when it ends, and the command before it
  Duration max_hold{};  // from the grant to the first signal; zero: none
};

// The next step: first the notice, then the first signal.
struct StopStep {
  std::optional<Notice> notice = {};
  bool signal = false;
};

class StopPlan {
 public:
  explicit StopPlan(const StopTerms& terms) : terms_(terms) {}

  // `max_hold` counts from here.
  void granted(Time now) { granted_at_ = now; }

  // When lease or time end, or KILL is due.
  std::optional<Time> next_deadline(const LeaseClock& clock) const;

  // The end of the lease is too near. `trouble`: why it was not renewed.
  StopStep check_lease(const LeaseClock& clock, const std::string& trouble, Time now);
  StopStep check_time(const LeaseClock& clock, Time now);
  // A verdict, as `notice` says; KILL after `grace` at the latest.
  StopStep lose_lease(Notice notice, Duration grace, const LeaseClock& clock, Time now);
  // True: the signal goes to the command. A second signal kills at once instead.
  bool end_by_user(int signal, Time now);
  void end_leftovers(Time now);

  bool kill_due(Time now) const;
  // The notice for the KILL that is sent now. If it finds no process that it can kill (the command
  // is in an uninterruptible sleep, or runs as another user), it is repeated.
  Notice kill(Time now);

  StopReason reason() const { return reason_; }
  bool stopping() const { return kill_at_.has_value(); }
  bool by_lock() const { return reason_ == StopReason::lease || reason_ == StopReason::time; }
  bool lease_over() const { return lease_over_; }  // the lease could not be kept
  bool warned() const { return lease_over_ && terms_.on_lost == OnLost::warn; }
  int user_signal() const { return user_signal_; }  // the signal that was passed on; 0: none
  bool kill_sent() const { return kills_ > 0; }
  // The command lived a second after the KILL: it cannot be killed, for now.
  bool survived_kill() const { return kills_ > 1; }

  // The guard's first deadline; then each new deadline. Time::max(): none.
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
  bool lease_over_ = false;  // the lease is over, and the user was told
  bool time_over_ = false;   // the time is over, and the user was told or a stop had begun
  int user_signal_ = 0;
  std::optional<Time> kill_at_;  // the next KILL, during a stop
  KillReason why_ = KillReason::grace_over;
  int kills_ = 0;
  Time guard_at_ = Time::max();
};

}  // namespace dlock
