// SPDX-License-Identifier: MIT
// forked(): runs a test in a process of its own, because it changes the process: signal mask,
// dispositions, subreaper. doctest does not work there, so the function returns a text to compare.
// After 20 s the process is killed with its whole group.
#pragma once

#include "base/assert.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

namespace dlock::test {

// Returns what `act` returned, or how its process ended instead.
inline std::string forked(const std::function<std::string()>& act) {
  std::array<int, 2> ends{};
  DLOCK_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t pid = ::fork();
  DLOCK_ASSERT(pid >= 0);
  if (pid == 0) {
    ::setpgid(0, 0);
    const std::string text = act() + ";";
    const bool written =
        ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(written ? 0 : 1);
  }
  ::setpgid(pid, pid);
  out.reset();
  std::string text;
  std::array<char, 4096> buffer{};
  pollfd wait{.fd = in.get(), .events = POLLIN, .revents = 0};
  ssize_t n = 1;
  while (n > 0 && ::poll(&wait, 1, 20000) > 0) {
    n = ::read(in.get(), buffer.data(), buffer.size());
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
    if (!text.empty() && text.back() == ';') break;
  }
  if (text.empty() || text.back() != ';') {
    siginfo_t info{};
    if (n == 0 && ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0) {
      text += "<died: " + std::to_string(info.si_status) + ">;";
    } else {
      text += "<hung>;";
    }
  }
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  text.pop_back();
  return text;
}

}  // namespace dlock::test
