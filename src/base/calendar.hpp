// SPDX-License-Identifier: MIT
// The UTC date of a point in time, computed without gmtime(3), which subtracts leap seconds if TZ
// or /etc/localtime names a zone that has them (zoneinfo/right).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

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

// Returns the time, in µs since 1970 and not before, as databases write it: "2026-01-31
// 12:00:00.000000".
inline std::string date_text(std::int64_t us) {
  const std::tm date = utc_date(std::chrono::sys_seconds(std::chrono::seconds(us / 1'000'000)));
  std::array<char, 96> text{};
  std::snprintf(text.data(),
                text.size(),
                "%04d-%02d-%02d %02d:%02d:%02d.%06d",
                date.tm_year + 1900,
                date.tm_mon + 1,
                date.tm_mday,
                date.tm_hour,
                date.tm_min,
                date.tm_sec,
                static_cast<int>(us % 1'000'000));
  return text.data();
}

}  // namespace dlock
