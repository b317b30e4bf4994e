// SPDX-License-Identifier: MIT
// Durations as people write them: "250ms", "1.5", "10s", "2m", "1h30m", "1d". A bare number is
// seconds, as in timeout(1) and flock(1).
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlock {

inline constexpr Duration k_longest_duration = std::chrono::hours(24 * 36525);  // 100 years

// Returns `number`, a time in any unit, limited to 100 years: a longer time may not fit into a
// Duration.
template <class Unit>
constexpr Duration bounded(Unit number) {
  constexpr auto k_most = std::chrono::duration_cast<Unit>(k_longest_duration);
  return std::clamp(number, -k_most, k_most);
}

// Returns the time that the text names, from 0 to 100 years. Errc::bad_usage: a longer time, an
// unknown unit or trailing text.
Result<Duration> parse_duration(std::string_view text);

// Returns a short text, exact enough for people: "250ms", "29.4s", "2m10s", "1h30m", "3d4h".
std::string format_duration(Duration d);

}  // namespace dlock
