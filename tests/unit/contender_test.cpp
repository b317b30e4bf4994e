// SPDX-License-Identifier: MIT
#include "store/table/contender.hpp"

#include <doctest/doctest.h>

#include "lease_words.hpp"

namespace dlock::contender {

namespace {

constexpr std::int64_t k_wall = 1'795'219'200'000'000;  // us
constexpr std::int64_t k_second = 1'000'000;

}  // namespace

TEST_CASE("the first epoch makes a token the time of the clock") {
  CHECK(Epoch{}.for_grant(524, k_wall, 0) == k_wall - 524);
}

TEST_CASE("an epoch is raised only when tokens are late by more than a second") {
  const Epoch epoch{.value = k_wall, .version = 7};
  CHECK(epoch.for_grant(10, k_wall, 0) == k_wall);
  CHECK(epoch.for_grant(10, k_wall + k_second, 0) == k_wall);
  CHECK(epoch.for_grant(10, k_wall + 2 * k_second, 0) == k_wall + 2 * k_second - 10);
}

TEST_CASE("a clock that is behind lowers no epoch") {
  const Epoch epoch{.value = k_wall, .version = 7};
  CHECK(epoch.for_grant(10, k_wall - 3600 * k_second, 0) == k_wall);
  CHECK(epoch.for_grant(10, 0, 0) == k_wall);
}

TEST_CASE(
    "tokens grow over a store that lost its data, one that was restored and one that is new") {
  const std::int64_t before = Epoch{.value = k_wall}.value + 524;  // the last token
  CHECK(Epoch{}.for_grant(2, k_wall + 5 * k_second, 0) + 3 > before);
  const Epoch restored{.value = k_wall - 3600 * k_second};
  CHECK(restored.for_grant(2, k_wall + 5 * k_second, 0) + 3 > before);
}

TEST_CASE("the next token is above each that is known of the lock, whatever the clock says") {
  CHECK(Epoch{}.for_grant(10, k_wall, k_wall + 999) + 11 > k_wall + 999);
}

TEST_CASE("neither a wild clock nor a wild epoch takes tokens to 2^53") {
  CHECK(Epoch{.value = k_wall}.for_grant(10, Epoch::k_most, 0) == k_wall);
  CHECK(Epoch::read(std::to_string(Epoch::k_most), 3).value == 0);
}

TEST_CASE("a server's number that no server counts to is as the nearest that one may count to") {
  constexpr std::int64_t k_least = std::numeric_limits<std::int64_t>::min();
  CHECK(Epoch{}.for_grant(k_least, k_wall, 0) == Epoch{}.for_grant(0, k_wall, 0));
  CHECK(Epoch{}.for_grant(-k_wall, k_wall, 0) == k_wall);
}

TEST_CASE("what is no epoch counts as none, and is replaced") {
  for (const char* const text : {"", "-5", "x", "12 ", "99999999999999999999"})
    CHECK(Epoch::read(text, 3).value == 0);
  CHECK(Epoch::read("12", 3).value == 12);
  CHECK(Epoch::read("x", 3).version == 3);
}

TEST_CASE("the token of a value without one is its write and the epoch that it was granted by") {
  const lease_table::StoreTime now{};
  lease_table::Lease lease{.holds = {{"s", {.id = "o#s", .who = {}}}}, .expires = now};
  const auto read = parse_lease(lease_json("o", lease, std::chrono::seconds(9), 0, k_wall), 7, now);
  REQUIRE(read.has_value());
  CHECK(read->lease.holds.at("s").token == k_wall + 7);
  // Older versions of dlock wrote it like this.
  const auto old = parse_lease(lease_json("o", lease, std::chrono::seconds(9), 0), 7, now);
  REQUIRE(old.has_value());
  CHECK(old->lease.holds.at("s").token == 7);
}

TEST_CASE("turns: that of a waiter for several names lasts ten seconds from each of its tries") {
  Turns turns;
  lease_table::StoredLock state;
  state.line.push_back({.id = "o#s", .arrival_us = 5, .waiter = Waiter{}, .written = 5});
  lease_table::Place& first = state.line.front();
  const auto ends = [&](int second) {
    const lease_table::StoreTime now{std::chrono::seconds(second)};
    first.alive_until = now + k_seen_alive;  // as it was read
    turns.note("a", state, now, [](const std::string&) { return false; });
    return first.alive_until.time_since_epoch();
  };
  CHECK(ends(1) == std::chrono::seconds(2));
  CHECK(ends(9) == std::chrono::seconds(2));
  first.id = "p#t";
  first.several = true;
  CHECK(ends(9) == std::chrono::seconds(9) + k_seen_alive);
  CHECK(ends(18) == std::chrono::seconds(9) + k_seen_alive);
  first.written = 6;
  CHECK(ends(18) == std::chrono::seconds(18) + k_seen_alive);
}

}  // namespace dlock::contender
