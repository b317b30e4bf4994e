// SPDX-License-Identifier: MIT
#include "sys/file_events.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

namespace dlock {

namespace {

// Sleeps until one of the descriptors is readable, until `until`, or until a signal comes.
void sleep_until(std::array<pollfd, 2>& waits, Time until) {
  const Time now = BootClock::now();
  if (now >= until) return;
  // At most a minute at a time: the time of poll(2) stands still while the machine sleeps,
  // BootClock does not.
  const Duration sleep = std::min<Duration>(until - now, std::chrono::minutes(1));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(sleep);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (sleep - seconds).count()};
  ::ppoll(waits.data(), waits.size(), &time, nullptr);
}

}  // namespace

Result<FileEvents> FileEvents::of(const std::string& path, std::uint32_t what) {
  FileEvents all;
  all.events_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!all.events_ || ::inotify_add_watch(all.events_.get(), path.c_str(), what) < 0) {
    return Error{Errc::refused, "cannot watch " + printable(path) + ": " + errno_text(errno)};
  }
  return all;
}

bool FileEvents::take(const Concerns& concerns) const {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  bool concern_us = false;
  for (;;) {
    const ssize_t n = events_ ? ::read(events_.get(), buffer.data(), buffer.size()) : -1;
    if (n <= 0) return concern_us;
    std::size_t at = 0;
    while (at < static_cast<std::size_t>(n)) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const file = buffer.data() + at + sizeof event;
      concern_us |= concerns(event.len > 0 ? std::string_view(file) : std::string_view());
      at += sizeof event + event.len;
    }
  }
}

Result<bool> FileEvents::wait(const Concerns& concerns,
                              Time until,
                              const Interrupt* interrupt) const {
  for (;;) {
    if (take(concerns)) return true;
    if (BootClock::now() >= until) return false;
    std::array<pollfd, 2> waits{pollfd{.fd = events_.get(), .events = POLLIN, .revents = 0},
                                polled(interrupt)};
    sleep_until(waits, until);
    if (ends_call(interrupt, waits[1])) {
      return Error{Errc::cancelled, "cannot wait longer: interrupted"};
    }
  }
}

}  // namespace dlock
