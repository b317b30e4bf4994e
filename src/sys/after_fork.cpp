// SPDX-License-Identifier: MIT
#include "sys/after_fork.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {

void become_child(const AfterFork& order) {
  ::setpgid(0, 0);
  if (order.terminal >= 0) ::tcsetpgrp(order.terminal, ::getpid());
  // A belt, not braces: cleared by a set-uid exec, and not inherited by the child's children.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != order.parent) ::_exit(127);  // it died before the line above
  order.signals->give_back();
  ::execvpe(order.words[0], order.words, order.environment);
  const int error = errno;
  [[maybe_unused]] const auto n = ::write(order.error_pipe, &error, sizeof error);
  ::_exit(127);
}

}  // namespace dlock
