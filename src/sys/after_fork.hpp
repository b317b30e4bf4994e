// SPDX-License-Identifier: MIT
// Everything that runs between fork(2) and exec(2), and nothing else. It makes only
// async-signal-safe calls: another thread may have held any lock when we forked (signal-safety(7)).
#pragma once

#include "base/boot_clock.hpp"
#include "sys/signals.hpp"

#include <sys/types.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

constexpr std::size_t k_pid_room = 12;  // digits of a pid, and a zero byte after them

struct AfterFork {
  char* const* words = nullptr;        // null-terminated
  char* const* environment = nullptr;  // null-terminated
  const Signals* signals = nullptr;
  pid_t parent = 0;
  int terminal = -1;  // the new group gets this terminal; -1: it gets none
  // The new process enters its cgroup by writing here; -1: there is no cgroup.
  int cgroup_entry = -1;
  // A soft RLIMIT_RTTIME by which the command's processes are recognised (unlike_limit()); 0: not
  // needed.
  unsigned long long limit = 0;
  int guard_line = -1;  // the socket to the guard, for its first order
  Time kill_at;
  int error_pipe = -1;  // if exec fails, its errno is written here as an int
  // The child writes its pid, in decimal, to these addresses in `environment`; a null entry is not
  // used.
  std::array<char*, 2> pid_places{};
};

// As fork(2), for a child that makes only system calls until exec. fork(3) would also prepare
// malloc and stdio in the child, which writes to pages that must then be copied: about 20 us.
pid_t bare_fork();

// Returns the texts as exec(2) wants them. To be called before the fork; valid while `texts` is.
std::vector<char*> pointers(const std::vector<std::string>& texts);

// Replaces this process's copy of dlock's arguments and environment by `text`, for ps(1) and
// pkill(1) -f. The copy ends before the file name that the kernel puts after it. The user's words
// must not remain: a pattern that matches a run must not match its guard.
void show_as(std::string_view text);

// Runs in the child: makes the child's process group, takes the terminal, arranges that the child
// dies with its parent, sends the guard its first order, restores the signals, and calls exec. Does
// not return.
[[noreturn]] void become_child(const AfterFork& order);

}  // namespace dlock
