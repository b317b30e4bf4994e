// SPDX-License-Identifier: MIT
// A BootClock limit for poll(2), and for an error text. poll counts on a clock that stops while the
// machine sleeps: callers poll for a minute at most, and read BootClock again.
#pragma once

#include "base/boot_clock.hpp"
#include "base/duration.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace dlock {

// Whole milliseconds, rounded up so that a poll of less than a minute that ends has reached the
// limit; 0 if it has passed.
inline int poll_ms(Time limit, Time now) {
  if (limit <= now) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit - now);
  return static_cast<int>(std::min(ms, std::chrono::milliseconds(std::chrono::minutes(1))).count());
}

// The reason part: `what` is "no answer" or the like. A part of the call may have had less time.
inline Error over_limit(const std::string& what, Time started, Time limit) {
  if (limit <= started) return {Errc::timed_out, what + ": no time left"};
  const Time ended = std::min(limit, std::max(started, BootClock::now()));
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(ended - started);
  return {Errc::timed_out, what + " within " + format_duration(ms)};
}

}  // namespace dlock
