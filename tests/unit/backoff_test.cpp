// SPDX-License-Identifier: MIT
#include "core/backoff.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace dlock {

using namespace std::chrono_literals;

TEST_CASE("jitter stays between its bounds and reaches both") {
  Jitter jitter(1);
  std::set<Duration> seen;
  for (int i = 0; i < 1000; ++i) {
    const Duration d = jitter.between(Duration(5), Duration(9));
    CHECK(d >= Duration(5));
    CHECK(d <= Duration(9));
    seen.insert(d);
  }
  CHECK(seen.size() == 5);
  CHECK(jitter.between(3s, 3s) == 3s);
}

TEST_CASE("jitter is the same for the same seed, and another for another") {
  const auto stream = [](std::uint64_t seed) {
    Jitter jitter(seed);
    std::vector<Duration> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(jitter.between(0s, 1s));
    return all;
  };
  CHECK(stream(42) == stream(42));
  CHECK(stream(42) != stream(43));
  CHECK(stream(0) != stream(1));
}

TEST_CASE("backoff doubles up to the longest, each pause at least half of that") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Jitter jitter(seed);
    Backoff backoff(50ms, 1s);
    for (const Duration most : {50ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms, 1000ms}) {
      const Duration pause = backoff.next(jitter);
      CHECK(pause >= most / 2);
      CHECK(pause <= most);
    }
    backoff.reset();
    CHECK(backoff.next(jitter) <= 50ms);
  }
}

}  // namespace dlock
