// SPDX-License-Identifier: MIT
#include "app/driver.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

namespace dlock {

EventSources::EventSources(const Signals* signals, int answers_fd)
    : all_(::epoll_create1(EPOLL_CLOEXEC)) {
  error_ = all_ ? timer_.error() : errno;
  add(timer_.fd(), k_timer);
  add(answers_fd, k_answers);
  if (signals != nullptr) add(signals->fd(), k_signals);
  epoll_event event{};
  // Waits once as a test: a loop that cannot wait would spin.
  if (error_ == 0 && ::epoll_wait(all_.get(), &event, 1, 0) < 0) error_ = errno;
}

// Adds a descriptor to those that the loop waits for. After several failures error() returns the
// first one.
void EventSources::add(int fd, Source source) {
  epoll_event event{.events = EPOLLIN, .data = {.u32 = source}};
  if (error_ == 0 && ::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) != 0) error_ = errno;
}

void EventSources::watch_process(int pidfd) {
  if (pidfd >= 0) add(pidfd, k_process);
}

void EventSources::process_ended(int pidfd) {
  ::epoll_ctl(all_.get(), EPOLL_CTL_DEL, pidfd, nullptr);
}

EventSources::Ready EventSources::look(int timeout_ms) {
  std::array<epoll_event, 4> events{};
  const int n = ::epoll_wait(all_.get(), events.data(), events.size(), timeout_ms);
  std::uint32_t sources = 0;
  for (int i = 0; i < n; ++i)
    sources |= events[static_cast<std::size_t>(i)].data.u32;
  return {.signals = (sources & k_signals) != 0,
          .answers = (sources & k_answers) != 0,
          .process = (sources & k_process) != 0};
}

}  // namespace dlock
