// SPDX-License-Identifier: MIT
// What happens to the child that must stop, and what its end means. Pure.
#pragma once

#include "base/boot_clock.hpp"

#include <optional>

namespace dlock {

// How a child ended, decoded once from its wait status (waitid(2)).
struct ChildStatus {
  enum class Kind {
    exited,       // value: its exit status
    signalled,    // value: the signal
    not_started,  // value: the errno of exec(2)
  };
  Kind kind = Kind::exited;
  int value = 0;
  bool operator==(const ChildStatus&) const = default;
};

// Why a child gets KILL.
enum class KillReason {
  grace_over,     // TERM did not end it in time
  second_signal,  // the user asked for it: another TERM or INT while it was being stopped
  lapsed,         // the lease ended while dlock did not run: there was no time for a TERM
};

// The one stop a child can be in: TERM was sent, KILL follows at kill_at. A second reason can only
// bring the KILL forward.
class StopPlan {
 public:
  bool stopping() const { return kill_at_.has_value(); }
  bool kill_sent() const { return kills_ > 0; }
  // It lived a second after the KILL: it cannot be killed, for now.
  bool survived_kill() const { return kills_ > 1; }
  void begin(Time kill_at, KillReason why = KillReason::grace_over) {
    if (kill_at_ && *kill_at_ <= kill_at) return;
    kill_at_ = kill_at;
    why_ = why;
  }
  KillReason why() const { return why_; }
  // When to act next, if there is anything left to do.
  std::optional<Time> next() const { return kill_at_; }
  bool kill_due(Time now) const { return kill_at_ && now >= *kill_at_; }
  // A KILL may find nobody it can kill (faults.md 3.5, P18, P27): it is repeated.
  void killed(Time now) {
    ++kills_;
    kill_at_ = now + std::chrono::seconds(1);
  }

 private:
  std::optional<Time> kill_at_;
  KillReason why_ = KillReason::grace_over;
  int kills_ = 0;
};

}  // namespace dlock
