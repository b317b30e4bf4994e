// SPDX-License-Identifier: MIT
#include "sys/after_fork.hpp"

#include "sys/guard_process.hpp"

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace dlock {

pid_t bare_fork() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return ::fork();  // a sanitizer has locks of its own, which the child must find unlocked
#else
  return ::_Fork();
#endif
}

void show_as(std::string_view text) {
  char* const begin = program_invocation_name;
  char* const end = reinterpret_cast<char*>(::getauxval(AT_EXECFN));  // NOLINT
  if (begin + text.size() >= end) return;
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  std::memcpy(begin, text.data(), text.size());
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    out.push_back(const_cast<char*>(text.c_str()));  // NOLINT
  out.push_back(nullptr);
  return out;
}

void become_child(const AfterFork& order) {
  // A command without a process group of its own is not started: a signal to its group would reach
  // dlock's group.
  int error = ::setpgid(0, 0) == 0 ? 0 : errno;
  if (order.terminal >= 0) ::tcsetpgrp(order.terminal, ::getpid());
  // Makes the kernel kill the command when dlock dies. The guard is needed too: a set-uid exec
  // clears this setting, and the children of the command do not inherit it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != order.parent) ::_exit(127);  // the parent died before the line above
  if (order.cgroup_entry >= 0) [[maybe_unused]]
    const auto n = ::write(order.cgroup_entry, "0", 1);
  // Sends the guard its first order and does not wait for an answer: the order is in the guard's
  // queue before the command's first instruction, even if dlock dies now. If the guard has died,
  // dlock gets SIGCHLD and starts another.
  send_order(order.guard_line, {.group = ::getpid(), .kill_at = order.kill_at});
  // Closes our copy of dlock's end of the socket. While a copy is open, the guard takes dlock for
  // alive, even if dlock dies while exec hangs.
  ::close(order.guard_line);
  if (rlimit limit{}; order.limit != 0 && ::getrlimit(RLIMIT_RTTIME, &limit) == 0) {
    limit.rlim_cur = order.limit;
    ::setrlimit(RLIMIT_RTTIME, &limit);
  }
  for (char* const place : order.pid_places) {
    if (place != nullptr) *std::to_chars(place, place + k_pid_room - 1, ::getpid()).ptr = '\0';
  }
  order.signals->give_back();
  // dlock has checked that enough of the lease is left (rule 2 of ARCHITECTURE.md), but this
  // process may have been frozen since then. So it checks the deadline once more.
  if (error == 0 && BootClock::now() >= order.kill_at) error = ETIME;
  if (error == 0) {
    ::execvpe(order.words[0], order.words, order.environment);
    error = errno;
  }
  [[maybe_unused]] const auto n = ::write(order.error_pipe, &error, sizeof error);
  ::_exit(127);
}

}  // namespace dlock
