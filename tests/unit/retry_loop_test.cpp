// SPDX-License-Identifier: MIT
// One call to a store, repeated while that may help.
#include "core/retry_loop.hpp"

#include <doctest/doctest.h>

#include "support/machine_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::k_ever;
using test::PlayedStoreTerms;
using test::Trouble;
using RetryWorld = test::MachineWorld<RetryLoop>;

namespace {

RetryWorld world_of(const RetryTerms& terms, std::vector<Trouble> troubles) {
  PlayedStoreTerms store{
      .latency = {}, .troubles = std::move(troubles), .hand_offs = {}, .refused = {}};
  RetryWorld world(RetryLoop(terms, 1, RetryWorld::k_start), std::move(store));
  world.store.carry_out = [](const action::Ask&, Time) -> StoreAnswer {
    return event::Called{Result<void>()};
  };
  return world;
}

RetryOutcome play(const RetryTerms& terms, const Trouble& trouble) {
  auto world = world_of(terms, {trouble});
  world.run();
  REQUIRE(world.outcome());
  return *world.outcome();
}

}  // namespace

TEST_CASE("a request that is answered is sent once") {
  auto world = world_of({.within = 5s}, {});
  CHECK(world.run() == "0s call, 0s end");
  CHECK_FALSE(world.outcome()->error);
  CHECK(world.outcome()->tries == 1);
  CHECK(world.said().empty());
}

TEST_CASE("a request to a store that comes up in time is repeated after growing pauses") {
  auto world = world_of(
      {.within = 5s},
      {{.from = 0s, .until = 3s, .kind = Trouble::Kind::error, .code = Errc::not_listening}});
  world.run();
  REQUIRE(world.outcome());
  CHECK_FALSE(world.outcome()->error);
  CHECK(world.outcome()->tries >= 5);
  CHECK(world.outcome()->tries <= 15);
}

TEST_CASE("a request to a silent store is repeated on time, and given up at the limit") {
  auto world = world_of({.within = 5s}, {{.from = 0s, .until = k_ever}});
  world.run();
  REQUIRE(world.outcome()->error);
  CHECK(world.outcome()->error->code == Errc::timed_out);
  CHECK(world.outcome()->tries == 3);
  CHECK(world.now() >= 5s);
  CHECK(world.now() <= 6s);
  for (const auto& [ask, when] : world.asks())
    CHECK(ask.limit - RetryWorld::k_start <= when + 2s);
}

TEST_CASE("an outage is reported once, after a second, with the time that is left") {
  for (const auto kind : {Trouble::Kind::silent, Trouble::Kind::error}) {
    auto world = world_of({.within = 5s}, {{.from = 0s, .until = k_ever, .kind = kind}});
    world.run();
    std::vector<Notice> told = world.notices();
    std::erase_if(told, [](const Notice& one) { return one.kind == Notice::Kind::unreachable; });
    REQUIRE(told.size() == 1);
    CHECK(told.front().kind == Notice::Kind::store_away);
    CHECK(told.front().seen_ago == 1s);
    CHECK(told.front().left == 4s);
  }
}

TEST_CASE("a request is not repeated where that cannot help") {
  const auto tries = [](Errc code, bool had_contact) {
    return play({.within = 5s, .had_contact = had_contact},
                {.from = 0s, .until = 1s, .kind = Trouble::Kind::error, .code = code})
        .tries;
  };
  for (const bool had_contact : {false, true}) {
    CHECK(tries(Errc::denied, had_contact) == 1);
    CHECK(tries(Errc::bad_usage, had_contact) == 1);
    CHECK(tries(Errc::system, had_contact) == 1);
    CHECK(tries(Errc::unavailable, had_contact) > 1);
  }
  // Until the store has answered once, the address may be wrong.
  for (const Errc code : {Errc::no_such_host, Errc::refused, Errc::protocol}) {
    CHECK(tries(code, false) == 1);
    CHECK(tries(code, true) > 1);
  }
}

}  // namespace dlock
