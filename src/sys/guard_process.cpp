// SPDX-License-Identifier: MIT
#include "sys/guard_process.hpp"

#include "sys/after_fork.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

namespace dlock {

namespace {

// The guard moves its descriptors to these numbers, so that one call can close all others.
constexpr int k_line = 0;
constexpr int k_timer = 1;
constexpr int k_cgroup_kill = 2;

void set_timer(Time at) {
  const auto since_boot = at.time_since_epoch();
  const auto whole = std::chrono::floor<std::chrono::seconds>(since_boot);
  itimerspec spec{};
  if (at != Time::max()) {
    spec.it_value.tv_sec = whole.count();
    spec.it_value.tv_nsec = (since_boot - whole).count();
  }
  ::timerfd_settime(k_timer, TFD_TIMER_ABSTIME, &spec, nullptr);
}

// Kills our own group, and so ourselves: as long as we are a member, the group's id is not reused.
[[noreturn]] void kill_group(bool joined) {
  if (joined) {
    [[maybe_unused]] const auto n = ::write(k_cgroup_kill, "1", 1);
    ::kill(0, SIGKILL);
  }
  ::_exit(0);
}

void show_group(pid_t group) {
  std::array<char, 64> text{"lease-guard of process group "};
  char* const number = text.data() + std::strlen(text.data());
  const auto [end, error] = std::to_chars(number, text.data() + text.size(), group);
  if (error == std::errc()) show_as({text.data(), static_cast<std::size_t>(end - text.data())});
}

void take_places(const GuardStart& start) {
  // These descriptors are above 2, because 0, 1 and 2 were open at the start (main): moving one
  // does not overwrite another.
  ::dup2(start.line, k_line);
  ::dup2(start.timer, k_timer);
  if (start.cgroup_kill >= 0) {
    ::dup2(start.cgroup_kill, k_cgroup_kill);
  } else {
    ::close(k_cgroup_kill);
  }
  ::close(start.dlocks_end);
  // Closes the descriptors that dlock's caller passed on: otherwise a reader of the caller's pipes
  // would wait for the guard to end. Needs Linux 5.9.
  ::close_range(3, ~0U, 0);
}

}  // namespace

bool send_order(int line, const GuardOrder& order) {
  return ::send(line, &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof order);
}

void become_guard(const GuardStart& start) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, k_guard_name.data());
  show_as(k_guard_name);
  take_places(start);

  GuardOrder order{.kill_at = Time::max()};
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{k_line, POLLIN, 0}, pollfd{k_timer, POLLIN, 0}};
    ::poll(fds.data(), fds.size(), -1);
    // Reads the orders before the clock, so that a deadline that dlock has moved in time counts.
    GuardOrder next;
    ssize_t n = 0;
    while ((n = ::recv(k_line, &next, sizeof next, MSG_DONTWAIT)) ==
           static_cast<ssize_t>(sizeof next)) {
      if (order.group == 0 && ::setpgid(0, next.group) != 0) ::_exit(1);
      if (order.group == 0) show_group(next.group);
      if (order.group == 0) order.group = next.group;
      order.kill_at = next.kill_at;
      set_timer(order.kill_at);
      send_order(k_line, next);
    }
    const bool dlock_gone = n >= 0 || errno != EAGAIN;
    if (dlock_gone || BootClock::now() >= order.kill_at) kill_group(order.group != 0);
  }
}

}  // namespace dlock
