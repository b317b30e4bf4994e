// SPDX-License-Identifier: MIT
// The UTC date of a point in time, by the calendar alone. gmtime(3) is not used: if TZ or
// /etc/localtime names a zone with leap seconds (zoneinfo/right), it subtracts them.
#pragma once

#include <chrono>
#include <ctime>

namespace dlock {

// Exact to the second; the day of the week and of the year stay 0.
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
