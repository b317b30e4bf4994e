// SPDX-License-Identifier: MIT
#include "store/json_bounds.hpp"

#include "store/record_json.hpp"
#include "store/state_json.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

namespace dlock {
namespace {

// Returns the CPU time of this thread, because other programs run at the same time.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

TEST_CASE("a record of many members is read in no time, one of very many is damaged") {
  const auto with_members = [](int count) {
    std::string json = "{\"name\":\"a\"";
    for (int i = 0; i < count; ++i)
      json += ",\"m" + std::to_string(i) + "\":0";
    return json + "}";
  };
  const double before = cpu_seconds();
  CHECK_FALSE(parse_state_file(with_members(90'000)).has_value());
  CHECK(cpu_seconds() - before < 2);
  CHECK_FALSE(parse_hold_record("o#1", with_members(50'000)).has_value());
}

TEST_CASE("JSON that is deep or has very many values is not within bounds, whatever is in texts") {
  const auto repeated = [](const std::string& piece, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i)
      all += piece;
    return all;
  };
  CHECK(is_within_bounds(R"({"a":[1,{"b":"]]]]"}]})"));
  CHECK(is_within_bounds(repeated("[", limits::k_depth)));
  CHECK_FALSE(is_within_bounds(repeated("[", limits::k_depth + 1)));
  CHECK(is_within_bounds(repeated("[],", limits::k_elements / 2)));
  CHECK_FALSE(is_within_bounds(repeated("[],", limits::k_elements)));
  CHECK(is_within_bounds('"' + repeated("[{,", limits::k_elements) + '"'));
  CHECK_FALSE(is_within_bounds(R"("\\")" + repeated("[", limits::k_depth + 1)));
  CHECK(is_within_bounds(R"("\")" + repeated("[", limits::k_depth + 1)));
  CHECK_FALSE(is_within_bounds("[1]", 2));
}

}  // namespace
}  // namespace dlock
