// SPDX-License-Identifier: MIT
// The code of the guard's process. It makes only system calls, and after its start only a few
// kinds; it allocates no memory, uses no network and parses nothing. It is forked from a process
// with threads (signal-safety(7)).
#pragma once

#include "base/boot_clock.hpp"

#include <sys/types.h>

#include <string_view>

namespace dlock {

// The guard's process name and the first word of its command line. It is not "dlock", so that
// `pkill dlock` and `killall dlock` spare the guard.
constexpr std::string_view k_guard_name = "lease-guard";

// An order to the guard: one datagram. The guard sends each order back to show that it lives.
struct GuardOrder {
  pid_t group = 0;  // the group to join, and to kill at `kill_at`; set by the first order
  Time kill_at;     // Time::max(): never
  bool operator==(const GuardOrder&) const = default;
};

bool send_order(int line, const GuardOrder& order);

struct GuardStart {
  int line = -1;         // the guard's end of the socket pair
  int dlocks_end = -1;   // dlock's end: the guard must close its copy to see when dlock is gone
  int timer = -1;        // a timerfd on CLOCK_BOOTTIME
  int cgroup_kill = -1;  // cgroup.kill of the command's cgroup; -1: no cgroup
};

[[noreturn]] void become_guard(const GuardStart& start);

}  // namespace dlock
