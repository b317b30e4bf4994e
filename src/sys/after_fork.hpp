// SPDX-License-Identifier: MIT
// Everything that runs between fork(2) and exec(2), and nothing else. Only async-signal-safe calls:
// another thread may have held any lock when we forked (signal-safety(7)).
#pragma once

#include "base/boot_clock.hpp"
#include "sys/signals.hpp"

#include <sys/types.h>

#include <array>

namespace dlock {

constexpr std::size_t k_pid_room = 12;  // digits of a pid, and a zero byte after them

struct AfterFork {
  char* const* words = nullptr;        // null-terminated
  char* const* environment = nullptr;  // null-terminated
  const Signals* signals = nullptr;
  pid_t parent = 0;
  int terminal = -1;             // hand this terminal to the new group; -1: do not
  int cgroup_entry = -1;         // the new process enters its cgroup here; -1: there is no cgroup
  unsigned long long limit = 0;  // a soft RLIMIT_RTTIME to mark it by; 0: none
  int guard_line = -1;           // the guard's first order goes here, with our group in it
  Time kill_at;
  int error_pipe = -1;  // an int errno is written here if exec fails
  // Our pid is written here in decimal, into the environment; nullptr: nowhere.
  std::array<char*, 2> pid_places{};
};

// fork(2) for a child that makes only system calls before it calls exec. fork(3) would also prepare
// malloc and stdio in the child, which writes to pages that must then be copied: about 20 us.
pid_t bare_fork();

// In the child: own process group, terminal, death with the parent, first order to the guard,
// signals, exec by PATH. Does not return.
[[noreturn]] void become_child(const AfterFork& order);

}  // namespace dlock
