// SPDX-License-Identifier: MIT
#include "sys/after_fork.hpp"

#include "sys/guard_process.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace dlock {

pid_t bare_fork() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return ::fork();  // a sanitizer has locks of its own, which the child must find unlocked
#else
  return ::_Fork();
#endif
}

void become_child(const AfterFork& order) {
  // If the command gets no group of its own, it is not started: in our group it could not be
  // killed.
  int error = ::setpgid(0, 0) == 0 ? 0 : errno;
  if (order.terminal >= 0) ::tcsetpgrp(order.terminal, ::getpid());
  // The kernel kills the command when dlock dies. The guard does so too, because a set-uid exec
  // clears this setting, and the children of the command do not inherit it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != order.parent) ::_exit(127);  // the parent died before the line above
  if (order.cgroup_entry >= 0) [[maybe_unused]]
    const auto n = ::write(order.cgroup_entry, "0", 1);
  // The child does not wait for an answer: the guard has the order in its queue before the
  // command's first instruction, even if dlock dies now. If the guard is gone, dlock gets SIGCHLD
  // and starts another.
  send_order(order.guard_line, {.group = ::getpid(), .kill_at = order.kill_at});
  // Otherwise an exec that hangs would look to the guard like a living dlock.
  ::close(order.guard_line);
  if (rlimit limit{}; order.limit != 0 && ::getrlimit(RLIMIT_RTTIME, &limit) == 0) {
    limit.rlim_cur = order.limit;
    ::setrlimit(RLIMIT_RTTIME, &limit);
  }
  for (char* const place : order.pid_places) {
    if (place != nullptr) *std::to_chars(place, place + k_pid_room - 1, ::getpid()).ptr = '\0';
  }
  order.signals->give_back();
  // We may have been frozen since dlock checked the start rule, so the deadline is checked once
  // more.
  if (error == 0 && BootClock::now() >= order.kill_at) error = ETIME;
  if (error == 0) {
    ::execvpe(order.words[0], order.words, order.environment);
    error = errno;
  }
  [[maybe_unused]] const auto n = ::write(order.error_pipe, &error, sizeof error);
  ::_exit(127);
}

}  // namespace dlock
