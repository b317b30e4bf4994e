// SPDX-License-Identifier: MIT
#include "cmd/patience.hpp"

#include <doctest/doctest.h>

namespace dlock {

using namespace std::chrono_literals;

TEST_CASE("only what may help is asked for again, and not for ever") {
  int asked = 0;
  const Time began = BootClock::now();
  auto answer = ask_patiently(began + 250ms, [&](Time limit) -> Result<int> {
    CHECK(limit <= began + 250ms);
    ++asked;
    return Error{Errc::timed_out, "no answer"};
  });
  CHECK_FALSE(answer);
  CHECK(asked >= 1);
  CHECK(asked <= 3);
  asked = 0;
  answer = ask_patiently(began + 1h, [&](Time) -> Result<int> {
    ++asked;
    return Error{Errc::denied, "no right"};
  });
  CHECK(asked == 1);
  answer = ask_patiently(began + 1h, [&](Time) -> Result<int> {
    if (++asked < 3) return Error{Errc::unavailable, "not yet"};
    return 7;
  });
  REQUIRE(answer);
  CHECK(*answer == 7);
}

}  // namespace dlock
