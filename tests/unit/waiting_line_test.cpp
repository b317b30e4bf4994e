// SPDX-License-Identifier: MIT
// How a waiter behaves that has a place in line: who asks when, who watches what, and who leaves.
#include <doctest/doctest.h>

#include "fake/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::Script;
using test::What;
using test::World;

namespace {

// Waits at `place` of a line; the lock is free from then on, and whoever asks gets it.
Script at_place(std::uint64_t place, std::optional<Duration> free_from) {
  Script script;
  script.places = {{0s, place}};
  script.free_from = free_from;
  script.runs_for = 0s;
  return script;
}

Duration last_try(const World& world) {
  return world.asked(What::acquire).back();
}

// Which watches were those of one in front.
std::vector<bool> watches(const World& world) {
  std::vector<bool> front;
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what == What::watch) front.push_back(ask.front);
  }
  return front;
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("line: whose turn it is asks at once, wherever it believes to stand") {
  for (const std::uint64_t place : {1U, 2U, 7U}) {
    Script script = at_place(place, 1s);
    script.hand_offs = {{1s, HandOff::turn}};
    World world(script);
    world.run();
    CHECK(last_try(world) == 1s);
    CHECK_KEPT(world);
  }
}

TEST_CASE("line: who is next asks by itself when the turn of the first is over") {
  Script script = at_place(2, 100ms);
  script.hand_offs = {{100ms, HandOff::next}};
  World world(script);
  world.run();
  CHECK(last_try(world) >= 1100ms);
  CHECK(last_try(world) <= 1200ms);
  CHECK_KEPT(world);
}

TEST_CASE("line: a change of the lock is for the first to look at") {
  Script script = at_place(1, 100ms);
  script.hand_offs = {{100ms, HandOff::changed}};
  World first(script);
  first.run();
  CHECK(last_try(first) == 100ms);

  script.places = {{0s, 2}};
  World second(script);
  second.run();
  CHECK(last_try(second) >= 1100ms);
}

TEST_CASE("line: at the end of a lease the first looks, a second later the second, no other") {
  Script script = at_place(1, 1s);
  script.lease_ends = 1s;
  struct Look {
    std::uint64_t place;
    Duration least;
    Duration most;
  };
  for (const Look& look :
       {Look{1, 1000ms, 1050ms}, Look{2, 2000ms, 2050ms}, Look{3, 2500ms, 3000ms}}) {
    script.places = {{0s, look.place}};
    World world(script);
    world.run();
    CHECK(last_try(world) >= look.least);
    CHECK(last_try(world) <= look.most);
  }
}

TEST_CASE("line: the first two watch the lock itself; who comes that far begins then") {
  Script script = at_place(2, 1s);
  World second(script);
  second.run();
  CHECK(watches(second) == std::vector<bool>{true});

  script.places = {{0s, 3}};
  script.free_from = 20s;
  World third(script);
  third.run();
  CHECK(watches(third) == std::vector<bool>{false});

  script.places = {{0s, 3}, {5s, 2}};
  World later(script);
  later.run();
  CHECK(watches(later) == std::vector<bool>{false, true});
}

TEST_CASE("line: who gives up leaves it, by -w as by a signal") {
  Script script = at_place(3, std::nullopt);
  script.wait = 2s;
  World timed(script);
  CHECK(timed.run() ==
        "0s acquire busy, 0s watch, 0s stand busy, 0s await, 2s leave not_held, 2s exit busy");
  script.wait.reset();
  script.signals = {{1s, 15}};
  World signalled(script);
  CHECK(signalled.run().find("leave") != std::string::npos);
  CHECK_KEPT(signalled);
}

TEST_CASE("line: where so many wait already, one more does not stand there") {
  Script script = at_place(3, std::nullopt);
  script.max_waiters = 2;
  CHECK(World(script).run() == "0s acquire busy, 0s exit busy");
  script.max_waiters = 3;
  script.free_from = 1s;
  CHECK(World(script).run().find("stand granted") != std::string::npos);
}

}  // namespace dlock
