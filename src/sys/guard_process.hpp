// SPDX-License-Identifier: MIT
// The code of the guard's process: only system calls, a fixed set of them after its start; no
// allocation, no network, nothing to parse. It is forked from a process with threads
// (signal-safety(7)).
#pragma once

#include "base/boot_clock.hpp"

#include <sys/types.h>

#include <string_view>

namespace dlock {

// The guard's process name and the first word of its command line: not "dlock", so that pkill(1)
// and killall(1) of that name spare it.
constexpr std::string_view k_guard_name = "lease-guard";

// An order to the guard, one datagram. The guard sends each order back to show that it lives.
struct GuardOrder {
  pid_t group = 0;  // to join, and to kill at `kill_at`; the first order fixes it
  Time kill_at;     // Time::max(): never
  bool operator==(const GuardOrder&) const = default;
};

bool send_order(int line, const GuardOrder& order);

struct GuardStart {
  int line = -1;         // the guard's end
  int dlocks_end = -1;   // closed when dlock is gone, so the guard must not keep a copy
  int timer = -1;        // timerfd on CLOCK_BOOTTIME
  int cgroup_kill = -1;  // cgroup.kill of the command's cgroup; -1: no cgroup
};

[[noreturn]] void become_guard(const GuardStart& start);

}  // namespace dlock
