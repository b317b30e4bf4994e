// SPDX-License-Identifier: MIT
// The UTC date of a point in time, computed without gmtime(3), which subtracts leap seconds if TZ
// or /etc/localtime names a zone that has them (zoneinfo/right).
#pragma once

#include <chrono>
#include <ctime>

namespace dlock {

// Returns the date, exact to the second; weekday and day of the year stay 0.
inline std::tm utc_date(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::tm parts{};
  parts.tm_year = static_cast<int>(date.year()) - 1900;
  parts.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  parts.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.tm_hour = static_cast<int>(clock.hours().count());
  parts.tm_min = static_cast<int>(clock.minutes().count());
  parts.tm_sec = static_cast<int>(clock.seconds().count());
  return parts;
}

}  // namespace dlock
