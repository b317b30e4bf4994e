// SPDX-License-Identifier: MIT
#include "base/duration.hpp"

#include <doctest/doctest.h>

namespace dlock {

using namespace std::chrono_literals;

TEST_CASE("durations are read as people write them") {
  CHECK(*parse_duration("250ms") == 250ms);
  CHECK(*parse_duration("1.5") == 1500ms);
  CHECK(*parse_duration("10s") == 10s);
  CHECK(*parse_duration("2m") == 2min);
  CHECK(*parse_duration("1h30m") == 90min);
  CHECK(*parse_duration("1d") == 24h);
  CHECK(*parse_duration("0") == 0s);
  CHECK(*parse_duration(".5s") == 500ms);
  CHECK(*parse_duration("0.001s") == 1ms);
}

TEST_CASE("a word that is no duration is bad usage") {
  for (const char* text :
       {"",   " ",    "s",  "x",   "-1s", "+1s", "1 s",  " 1s",  "1s ",  "1h30",
        "1x", "1sec", "1S", "1e3", "inf", "nan", "1..2", "0x10", "1,5s", "1s-1s"}) {
    CAPTURE(text);
    const auto duration = parse_duration(text);
    REQUIRE_FALSE(duration.has_value());
    CHECK(duration.error().code == Errc::bad_usage);
    CHECK(duration.error().text.find("cannot read duration") == 0);
  }
}

TEST_CASE("the longest duration is a hundred years") {
  CHECK(*parse_duration("36525d") == 24h * 36525);
  for (const char* text : {"36526d", "40000d", "99999999999999999999999999999999999999d"}) {
    const auto duration = parse_duration(text);
    REQUIRE_FALSE(duration.has_value());
    CHECK(duration.error().code == Errc::bad_usage);
    CHECK(duration.error().text.find("is too long: at most 36525d") != std::string::npos);
  }
}

TEST_CASE("durations are written short") {
  CHECK(format_duration(0s) == "0ms");
  CHECK(format_duration(250ms) == "250ms");
  CHECK(format_duration(29400ms) == "29.4s");
  CHECK(format_duration(30s) == "30s");
  CHECK(format_duration(59999ms) == "59.9s");
  CHECK(format_duration(130s) == "2m10s");
  CHECK(format_duration(2min) == "2m");
  CHECK(format_duration(90min) == "1h30m");
  CHECK(format_duration(1h) == "1h");
  CHECK(format_duration(76h) == "3d4h");
  CHECK(format_duration(24h) == "1d");
  CHECK(format_duration(-1500ms) == "-1.5s");
}

TEST_CASE("a written duration can be read") {
  for (const Duration d : {Duration(1ms),
                           Duration(999ms),
                           Duration(1s),
                           Duration(61s),
                           Duration(3661s),
                           Duration(90061s)}) {
    CHECK(parse_duration(format_duration(d)).has_value());
  }
}

}  // namespace dlock
