// SPDX-License-Identifier: MIT
// Waiting for a lock: tries, watches, pauses, the end of the wait, and outages of the store.
#include "core/acquire_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/scripted_world.hpp"
#include "support/waiting.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::gaps;
using test::k_ever;
using test::last_try;
using test::Script;
using test::Trouble;
using test::waiting;
using test::What;
using test::World;
using Kind = Notice::Kind;

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("a busy lock is watched, then tried again, then waited for") {
  Script script = waiting(1s);
  script.hand_offs = {{1s}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire busy, 0s watch front, 0s stand busy, 0s await changed, 1s stand granted, 1s "
        "start, 1s ended, 1s release, 1s exit 0");
  CHECK_KEPT(world);
}

TEST_CASE("a lock that became free before the watch was up is found by the second try") {
  Script script = waiting(10ms);
  script.latency = 20ms;
  World world(script);
  CHECK(world.run() ==
        "0s acquire busy, 0.02s watch front, 0.04s stand granted, 0.06s start, 0.06s ended, 0.06s "
        "release, 0.08s exit 0");
}

TEST_CASE("-n tries once") {
  Script script = waiting(std::nullopt);
  script.wait = 0s;
  World world(script);
  CHECK(world.run() == "0s acquire busy, 0s exit busy");
  REQUIRE(world.outcome()->refusal);
  CHECK(world.outcome()->refusal->holding.type == "hash");
}

TEST_CASE("-n gets a free lock whose first waiter is dead, when its turn is over") {
  Script script = waiting(1s);
  script.wait = 0s;
  script.refusal.turn_left = 1s;
  World world(script);
  const std::string all = world.run();
  CHECK(all.find("watch") == std::string::npos);
  CHECK(all.find("start") != std::string::npos);
  CHECK(all.find("s exit 0") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE(
    "-n is refused when a living waiter has taken its turn, and after two turns in any case") {
  const AcquireTerms terms{.wait = 0s, .connect_timeout = 5s, .outage_limit = 5s};
  const Refusal free{.holding = {}, .turn_left = 1s};
  AcquireLoop loop(terms, 1, Time(0s));
  (void)loop.start(Time(0s));
  Time now(0s);
  auto step = loop.on_acquire(AcquireReply(free), now);
  REQUIRE(std::holds_alternative<step::Sleep>(step));
  CHECK(std::holds_alternative<step::Busy>(
      AcquireLoop(loop).on_acquire(AcquireReply(Refusal{}), now)));
  int tries = 0;
  for (; std::holds_alternative<step::Sleep>(step); ++tries) {
    now = std::get<step::Sleep>(step).until;
    REQUIRE(std::holds_alternative<step::Try>(loop.on_time(now)));
    step = loop.on_acquire(AcquireReply(free), now);
  }
  CHECK(std::holds_alternative<step::Busy>(step));
  CHECK(now == Time(2s));
  CHECK(tries <= 20);
}

TEST_CASE("dead waiters fill no line of a free lock, and -w ends in time all the same") {
  AcquireTerms terms{.wait = 500ms, .connect_timeout = 5s, .outage_limit = 5s, .max_waiters = 1};
  Refusal full{.holding = {}, .turn_left = 1s};
  full.holding.waiting = 1;
  AcquireLoop loop(terms, 1, Time(0s));
  (void)loop.start(Time(0s));
  auto step = loop.on_acquire(AcquireReply(full), Time(0s));
  REQUIRE(std::holds_alternative<step::Sleep>(step));
  CHECK(std::holds_alternative<step::Busy>(loop.on_acquire(AcquireReply(full), Time(500ms))));
}

TEST_CASE("a lock that is held by an ancestor is not waited for, with or without -n") {
  Script script = waiting(std::nullopt);
  script.refusal.by_ancestor = true;
  World world(script);
  CHECK(world.run() == "0s acquire busy, 0s exit busy");
  REQUIRE(world.outcome()->refusal);
  CHECK(world.outcome()->refusal->by_ancestor);
  CHECK_KEPT(world);
}

TEST_CASE("a claim that a later one has superseded gives up, and has no place to leave") {
  Script script = waiting(std::nullopt);
  script.refusal.superseded_by = HolderInfo{.host = "ci", .pid = 7, .user = "bob"};
  World world(script);
  CHECK(world.run() == "0s acquire busy, 0s exit superseded");
  REQUIRE(world.outcome()->refusal);
  CHECK_KEPT(world);
}

TEST_CASE("-w gives up when its time is over, with the holder as last seen") {
  Script script = waiting(std::nullopt);
  script.wait = 2500ms;
  World world(script);
  CHECK(world.run() ==
        "0s acquire busy, 0s watch front, 0s stand busy, 0s await, 2.5s leave not_held, 2.5s exit "
        "busy");
  CHECK(world.outcome()->refusal);
}

TEST_CASE("-w holds also for a waiter that polls") {
  Script script = waiting(std::nullopt);
  script.wait = 2s;
  script.watch_error = Error{Errc::denied, "no channel for you"};
  World world(script);
  const std::string all = world.run();
  CHECK(all.find(", 2s leave not_held, 2s exit busy") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("a hand-off at the last moment before the limit is still answered with a try") {
  Script script = waiting(2s);
  script.wait = 2s;
  script.hand_offs = {{2s}};
  CHECK(World(script).run().find("2s stand granted") != std::string::npos);
}

TEST_CASE("a lost hand-off costs at most three seconds") {
  Script script = waiting(1s);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    script.seed = seed;
    World world(script);
    world.run();
    CHECK(last_try(world) >= 2500ms);
    CHECK(last_try(world) <= 3s);
  }
}

TEST_CASE("the end of the holder's lease bounds the sleep") {
  Script script = waiting(2s);
  script.lease_ends = 2s;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    script.seed = seed;
    World world(script);
    world.run();
    CHECK(last_try(world) > 2s);
    CHECK(last_try(world) <= 2020ms);
  }
}

TEST_CASE("without key tracking a foreign holder is checked every 50 to 250 ms") {
  for (const bool untracked : {true, false}) {
    CAPTURE(untracked);
    Script script = waiting(std::nullopt);
    script.wait = 10s;
    script.refusal.holding = {.kind = Holding::Kind::foreign, .type = "string"};
    (untracked ? script.untracked_because : script.watch_error.emplace(Errc::denied, "").text) =
        "no";
    World world(script);
    world.run();
    auto pauses = gaps(world.asked(What::acquire));
    REQUIRE(pauses.size() > 40);
    pauses.erase(pauses.begin());  // the second try comes right after the watch
    pauses.pop_back();             // cut short by the deadline
    for (const Duration pause : pauses) {
      CHECK(pause >= 50ms);
      CHECK(pause <= 250ms);
    }
  }
}

TEST_CASE("with key tracking a foreign holder is checked no more often than any other") {
  Script script = waiting(std::nullopt);
  script.wait = 10s;
  script.refusal.holding = {.kind = Holding::Kind::foreign, .type = "string"};
  World world(script);
  world.run();
  CHECK(world.asked(What::acquire).size() <= 6);
}

TEST_CASE("without a subscription waiters poll, and report that once") {
  for (const Errc code : {Errc::denied, Errc::refused}) {
    Script script = waiting(10s);
    script.watch_error = Error{code, "no channel for you"};
    World world(script);
    world.run();
    CHECK(world.asked(What::watch).size() == 1);
    CHECK(std::count_if(world.notices().begin(), world.notices().end(), [](const Notice& one) {
            return one.kind == Kind::polling && one.text == "no channel for you";
          }) == 1);
    auto pauses = gaps(world.asked(What::acquire));
    pauses.erase(pauses.begin());  // the first try in line comes right after the watch
    for (const Duration pause : pauses) {
      CHECK(pause >= 50ms);
      CHECK(pause <= 500ms);
    }
    CHECK(last_try(world) >= 10s);
    CHECK(last_try(world) <= 10500ms);
  }
}

TEST_CASE("after a broken connection the waiter watches the lock again") {
  Script script = waiting(10s);
  script.hand_offs = {{10s}};
  script.troubles = {{.from = 0s,
                      .until = 10ms,
                      .kind = Trouble::Kind::answers_lost,
                      .only = What::await_hand_off}};
  World world(script);
  world.run();
  CHECK(world.asked(What::watch).size() == 2);
  CHECK(last_try(world) == 10s);
}

TEST_CASE("hand-offs that fail at once do not make a loop without a pause") {
  // Such as a server that cuts off its subscribers: client-output-buffer-limit pubsub 1 1 1.
  Script script = waiting(10s);
  script.latency = 1ms;
  script.troubles = {
      {.from = 0s, .until = k_ever, .kind = Trouble::Kind::error, .only = What::await_hand_off}};
  World world(script);
  world.run();
  CHECK(world.asked(What::acquire).size() < 250);
}

TEST_CASE("a wait is reported after a second, then at doubling intervals of at most a minute") {
  Script script = waiting(200s);
  script.hand_offs = {{200s}};
  World world(script);
  world.run();
  std::vector<Duration> told;
  for (const Notice& notice : world.notices()) {
    if (notice.kind == Kind::waiting) told.push_back(notice.span);
  }
  CHECK(told == std::vector<Duration>{1s, 3s, 7s, 15s, 31s, 63s, 123s, 183s});
}

TEST_CASE("a wait is not reported before a holder was seen") {
  Script script = waiting(0s);
  script.troubles = {{.from = 0s, .until = 3s, .kind = Trouble::Kind::error}};
  World world(script);
  world.run();
  CHECK_FALSE(world.said(Kind::waiting));
}

TEST_CASE("each try is bounded by the connect timeout, and by -w with a second to answer") {
  const Time now(1000s);
  const AcquireTerms terms{.wait = {}, .connect_timeout = 5s, .outage_limit = 30s};
  const auto limit_of = [](const AcquireStep& step) { return std::get<step::Try>(step).limit; };
  CHECK(limit_of(AcquireLoop(terms, 1, now).start(now)) == now + 5s);
  AcquireTerms wait = terms;
  wait.wait = 3s;
  CHECK(limit_of(AcquireLoop(wait, 1, now).start(now)) == now + 3s);
  CHECK(limit_of(AcquireLoop(wait, 1, now).on_time(now + 2900ms)) == now + 3900ms);
  AcquireTerms once = terms;
  once.wait = 0s;
  CHECK(limit_of(AcquireLoop(once, 1, now).start(now)) == now + 5s);
}

}  // namespace dlock
