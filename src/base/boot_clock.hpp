// SPDX-License-Identifier: MIT
// BootClock: CLOCK_BOOTTIME, the only clock on which decisions are based. It counts while the
// machine sleeps (clock_gettime(2)), so a laptop that was suspended does not rely on a lease that
// has ended. CLOCK_MONOTONIC and std::chrono::steady_clock stand still while the machine sleeps,
// and the wall clock can jump.
#pragma once

#include <chrono>
#include <ratio>

namespace dlock {

using Duration = std::chrono::nanoseconds;

struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

using Time = BootClock::time_point;

// Returns whole milliseconds for protocols, rounded down.
constexpr long long to_ms(Duration d) {
  return std::chrono::floor<std::chrono::milliseconds>(d).count();
}

}  // namespace dlock
