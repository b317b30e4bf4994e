// SPDX-License-Identifier: MIT
// Two processes can kill the child at its deadline (rule 7): the guard must kill no later than
// dlock would, and must spare a child whose lease is renewed.
#include <doctest/doctest.h>

#include "support/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::Script;
using test::World;

namespace {

using Told = std::vector<std::string>;

Told guard_told(const Script& script) {
  World world(script);
  world.run();
  CHECK(world.violations() == Told{});
  return world.guard_told();
}

}  // namespace

TEST_CASE("the guard's deadline comes with the child and moves with each renewal") {
  Script script;
  script.runs_for = 25s;
  CHECK(guard_told(script) == Told{"29.39s", "39.39s", "49.39s"});
}

TEST_CASE("a renewal without an answer leaves the guard's deadline where it is") {
  Script script;
  script.troubles = {{.from = 5s, .until = 60s}};
  script.term_takes.reset();
  CHECK(guard_told(script) == Told{"29.39s"});
}

TEST_CASE("a verdict brings the guard's deadline forward to the KILL that follows it") {
  Script script;
  script.term_takes.reset();
  script.lost_from = 5s;
  CHECK(guard_told(script) == Told{"29.39s", "11s"});
  script.lost_from.reset();
  script.revoked_from = 5s;
  CHECK(guard_told(script) == Told{"29.39s", "20s"});
}

TEST_CASE("a user's TERM does not move the guard's deadline: the lease is kept meanwhile") {
  Script script;
  script.term_takes.reset();
  script.signals = {{1s, 15}};
  CHECK(guard_told(script) == Told{"29.39s", "39.39s"});
}

TEST_CASE("with on_lost warn the guard has no deadline") {
  Script script;
  script.on_lost = OnLost::warn;
  script.lost_from = 5s;
  script.runs_for = 60s;
  CHECK(guard_told(script) == Told{"never"});
}

}  // namespace dlock
