// SPDX-License-Identifier: MIT
#include "base/calendar.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <string>

namespace dlock {
namespace {

std::string text_of(long long seconds) {
  const std::tm parts = utc_date(std::chrono::sys_seconds(std::chrono::seconds(seconds)));
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

}  // namespace

TEST_CASE("a point in time has the date of the calendar") {
  CHECK(text_of(0) == "1970-01-01 00:00:00");
  CHECK(text_of(951827696) == "2000-02-29 12:34:56");
  CHECK(text_of(1795744317) == "2026-11-27 01:51:57");
  CHECK(text_of(9119951999) == "2258-12-31 23:59:59");
}

TEST_CASE("a time of a database has six digits after the second") {
  CHECK(date_text(951827696'000042) == "2000-02-29 12:34:56.000042");
  CHECK(date_text(0) == "1970-01-01 00:00:00.000000");
}

}  // namespace dlock
