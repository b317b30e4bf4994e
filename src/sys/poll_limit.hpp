// SPDX-License-Identifier: MIT
// Turns a BootClock limit into a timeout for poll(2) and into an error text. The clock of poll(2)
// stops while the machine sleeps, so callers poll for at most a minute and then read BootClock
// again.
#pragma once

#include "base/boot_clock.hpp"
#include "base/duration.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace dlock {

// Returns the time left in whole milliseconds, at most a minute; 0 if the limit has passed. It is
// rounded up, so that a poll of less than a minute that times out has reached the limit.
inline int poll_ms(Time limit, Time now) {
  if (limit <= now) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit - now);
  return static_cast<int>(std::min(ms, std::chrono::milliseconds(std::chrono::minutes(1))).count());
}

// Returns Errc::timed_out; `what` is "no answer" or the like. The text says how long the call
// really had.
inline Error over_limit(const std::string& what, Time started, Time limit) {
  if (limit <= started) return {Errc::timed_out, what + ": no time left"};
  const Time ended = std::min(limit, std::max(started, BootClock::now()));
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(ended - started);
  return {Errc::timed_out, what + " within " + format_duration(ms)};
}

}  // namespace dlock
