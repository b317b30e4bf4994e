// SPDX-License-Identifier: MIT
#include "base/boot_clock.hpp"

#include <ctime>

namespace dlock {

BootClock::time_point BootClock::now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace dlock
