// SPDX-License-Identifier: MIT
// What a run leaves behind when it releases: the rest of min_hold and the record of its success;
// and what it releases if some of several names are lost.
#include "core/run_session.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "support/has.hpp"
#include "support/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::Script;
using test::Trouble;
using test::What;
using test::World;
using Kind = Notice::Kind;

namespace {

Script at_least(Duration min_hold, Duration runs_for) {
  Script script;
  script.min_hold = min_hold;
  script.runs_for = runs_for;
  return script;
}

// Returns the options of the release; of the last one, if it was repeated.
ReleaseOptions release_options_of(const World& world) {
  ReleaseOptions options;
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what == What::release) options = ask.release_options;
  }
  return options;
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

// --- min_hold ----------------------------------------------------------------------------------

TEST_CASE(
    "min_hold: the release keeps the lock for the rest of the time, however the command ended") {
  World quick(at_least(40s, 1s));
  CHECK(quick.run() == "0s acquire granted, 0s start, 1s ended, 1s release, 1s exit 0");
  CHECK(release_options_of(quick).keep == 39s);

  Script script = at_least(40s, 3s);
  script.status = {ChildStatus::Kind::exited, 7};
  World failing(script);
  failing.run();
  CHECK(release_options_of(failing).keep == 37s);

  script.runs_for.reset();
  script.max_hold = 5s;
  World stopped(script);
  stopped.run();
  CHECK(stopped.outcome()->kind == Outcome::Kind::time_up);
  CHECK(release_options_of(stopped).keep == 35s);

  World slow(at_least(40s, 45s));
  slow.run();
  CHECK(release_options_of(slow).keep == 0s);
}

TEST_CASE(
    "min_hold: the time counts from the grant, and a repeated release keeps the lock no longer") {
  Script script = at_least(40s, 1s);
  script.free_from = 60s;
  script.hand_offs = {{60s}};
  script.troubles = {
      {.from = 60s, .until = 61300ms, .kind = Trouble::Kind::error, .only = What::release}};
  World world(script);
  CHECK(has(world.run(), "61.2s release ?, 61.3s release, 61.3s exit 0"));
  CHECK(release_options_of(world).keep == 38700ms);
}

TEST_CASE("min_hold: a lock whose command did not run, or that was lost, is not kept") {
  Script script = at_least(40s, 0s);
  script.status = {ChildStatus::Kind::not_started, 2};
  World no_exec(script);
  no_exec.run();
  CHECK(release_options_of(no_exec).keep == 0s);

  script = at_least(40s, 0s);
  script.cannot_start = true;
  World no_fork(script);
  no_fork.run();
  CHECK(no_fork.asked(What::release).size() == 1);
  CHECK(release_options_of(no_fork).keep == 0s);

  for (const OnLost on_lost : {OnLost::stop, OnLost::warn}) {
    script = at_least(40s, 15s);
    script.on_lost = on_lost;
    script.revoked_from = 10s;
    World revoked(script);
    revoked.run();
    CHECK(revoked.asked(What::release).size() == 1);
    CHECK(release_options_of(revoked).keep == 0s);
  }
}

// --- once_per ----------------------------------------------------------------------------------

TEST_CASE(
    "once_per: only a command that returned 0 counts as a success, and not one that was stopped") {
  Script script;
  script.once_per = 1h;
  script.runs_for = 3s;
  World success(script);
  success.run();
  CHECK(release_options_of(success).tell_for == 1h);

  script.status = {ChildStatus::Kind::exited, 1};
  World failure(script);
  failure.run();
  CHECK(failure.asked(What::release).size() == 1);
  CHECK(release_options_of(failure).tell_for == 0s);

  script.status = {ChildStatus::Kind::signalled, 9};
  World killed(script);
  killed.run();
  CHECK(release_options_of(killed).tell_for == 0s);

  script.status = {};
  script.max_hold = 2s;
  script.term_takes = 5s;
  World stopped(script);
  CHECK(has(stopped.run(), "2s TERM, 3s ended, 3s release, 3s exit time_up"));
  CHECK(release_options_of(stopped).tell_for == 0s);
}

TEST_CASE("once_per: a run that has become unnecessary ends its wait and leaves the line") {
  Script script;
  script.done_from = 0s;
  script.done_ago = 12min;
  World at_once(script);
  CHECK(at_once.run() == "0s acquire done, 0s exit done");
  CHECK(at_once.said() == "0s done_before");
  CHECK(at_once.notices()[0].span == 12min);
  CHECK(at_once.outcome()->summary.holds.empty());
  CHECK_KEPT(at_once);

  script.done_from = 5s;
  script.free_from.reset();
  script.hand_offs = {{5s, HandOff::turn}};
  World waited(script);
  CHECK(has(waited.run(), "5s stand done, 5s leave not_held, 5s exit done"));
  CHECK_FALSE(waited.child_started());
  CHECK_KEPT(waited);
}

TEST_CASE("once_per: an unnecessary run releases a grant whose answer was lost") {
  Script script;
  script.free_from = 1s;
  script.hand_offs = {{1s}};
  script.troubles = {{.from = 1s, .until = 1100ms, .kind = Trouble::Kind::answers_lost}};
  script.done_from = 2s;  // another reader has ended
  World world(script);
  CHECK(has(world.run(), "1s stand ?, "));
  CHECK(has(world.run(), "stand done, "));
  CHECK(world.asked(What::undo).size() == 1);
  CHECK(world.outcome()->kind == Outcome::Kind::done);
  CHECK_FALSE(world.held());
  CHECK_KEPT(world);
}

// --- several names -----------------------------------------------------------------------------

TEST_CASE("names: the command and the summary of the run get each hold of a grant") {
  Script script;
  script.names = {"a", "b"};
  script.runs_for = 1s;
  World world(script);
  world.run();
  const Holds& holds = world.outcome()->summary.holds;
  REQUIRE(holds.size() == 2);
  CHECK(holds[0].name.text() == "a");
  CHECK(holds[1].name.text() == "b");
  CHECK(holds[1].token == 8);
  REQUIRE(world.notices()[0].holds.size() == 2);
  CHECK(world.notices()[0].holds[0].token == 7);
}

TEST_CASE("names: when one of them is lost the command is stopped and the rest is released") {
  Script script;
  script.names = {"a", "b"};
  script.lost_from = 5s;
  script.min_hold = 1h;
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew lost, 10s TERM, 10s ended, 10s release not_held, "
        "10s exit lost");
  CHECK(world.said() == "0s granted, 10s lost, 10s signalled, 10s ended");
  CHECK(world.outcome()->summary.lost);
  CHECK(world.outcome()->summary.released == RunSummary::Released::no);
  CHECK(release_options_of(world).keep == 0s);
  CHECK_FALSE(world.held());
  CHECK_KEPT(world);
}

TEST_CASE("names: a rest whose release got no answer is not called released") {
  Script script;
  script.names = {"a", "b"};
  script.lost_from = 5s;
  script.troubles = {
      {.from = 10s, .until = 10001ms, .kind = Trouble::Kind::answers_lost, .only = What::release}};
  World world(script);
  CHECK(has(world.run(), "10s release ?, 11.1s release not_held, 11.1s exit lost"));
  CHECK_FALSE(world.said(Kind::released));
  CHECK_FALSE(world.said(Kind::lost_at_release));
  CHECK(world.outcome()->summary.released == RunSummary::Released::no);
}

}  // namespace dlock
