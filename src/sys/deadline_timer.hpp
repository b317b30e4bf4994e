// SPDX-License-Identifier: MIT
// DeadlineTimer: a timerfd(2) on CLOCK_BOOTTIME. Its descriptor becomes readable at the deadline,
// even if the deadline passed while the machine slept; a timeout of poll(2) does not count that
// time.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/unique_fd.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

namespace dlock {

class DeadlineTimer {
 public:
  DeadlineTimer() : fd_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    const itimerspec never{};
    // The timer is tested here: a deadline that cannot be set would never come.
    if (!fd_ || ::timerfd_settime(fd_.get(), 0, &never, nullptr) != 0) error_ = errno;
  }

  int error() const { return error_; }  // errno if the timer cannot work, otherwise 0
  int fd() const { return fd_.get(); }

  // Sets the deadline. nullopt: never. A time in the past: at once.
  void set(std::optional<Time> deadline) {
    if (deadline == set_) return;
    set_ = deadline;
    itimerspec spec{};
    if (deadline) {
      // timerfd_settime(2) takes zero for "never".
      const auto since_boot = std::max<Duration>(deadline->time_since_epoch(), Duration(1));
      const auto whole = std::chrono::floor<std::chrono::seconds>(since_boot);
      spec.it_value.tv_sec = whole.count();
      spec.it_value.tv_nsec = (since_boot - whole).count();
    }
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  }

 private:
  UniqueFd fd_;
  int error_ = 0;
  std::optional<Time> set_;
};

}  // namespace dlock
