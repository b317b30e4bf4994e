// SPDX-License-Identifier: MIT
// A hold that is watched between renewals: which asks are sent when. A message about a change only
// makes a check come earlier; it decides nothing. With a ttl of 30 s: renewal at 10 s, TERM at
// 19.39 s, KILL at 29.39 s.
#include "core/run_session.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "support/has.hpp"
#include "support/scripted_world.hpp"
#include "support/world_words.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::k_ever;
using test::Script;
using test::Trouble;
using test::What;
using test::World;
using Kind = Notice::Kind;

namespace {

Script watched(Duration runs_for) {
  Script script;
  script.news = true;
  script.runs_for = runs_for;
  return script;
}

Trouble trouble(What what, Duration from, Duration until, Trouble::Kind kind) {
  return {.from = from, .until = until, .kind = kind, .only = what};
}

long count(const World& world, Kind kind) {
  return std::count_if(world.notices().begin(), world.notices().end(), [&](const Notice& one) {
    return one.kind == kind;
  });
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("changes: a hold is watched a second after the grant, checked, and then waited on") {
  World world(watched(25s));
  CHECK(
      world.run() ==
      "0s acquire granted, 0s start, 1s watch_hold, 1s check held, 1s await cancelled, 10s renew, "
      "10s await cancelled, 20s renew, 20s await cancelled, 25s ended, 25s release, 25s exit 0");
  CHECK(world.said() == "0s granted, 10s renewed, 20s renewed, 25s ended, 25s released");
  CHECK_KEPT(world);
}

TEST_CASE("changes: a run of less than a second does not watch its hold") {
  World world(watched(999ms));
  CHECK(world.run() == "0s acquire granted, 0s start, 0.999s ended, 0.999s release, 0.999s exit 0");
}

TEST_CASE("changes: a hold without all its parts is watched after 100 ms, as they come meanwhile") {
  Script script = watched(999ms);
  script.complete = false;
  CHECK(has(World(script).run(), "0s start, 0.1s watch_hold, 0.1s check held, 0.1s await"));
}

TEST_CASE("changes: the watch begins early enough not to delay the renewal") {
  Script script = watched(3s);
  script.kill_after.reset();
  script.ttl = 3600ms;  // renewed at 1.2 s, and an answer takes up to 0.36 s
  World world(script);
  CHECK(has(world.run(), "0s start, 1.2s renew, 1.2s watch_hold, 1.2s check held, 1.2s await"));
  CHECK_KEPT(world);
  script.ttl = 4500ms;
  CHECK(has(World(script).run(), "0s start, 1s watch_hold, 1s check held, 1s await"));
  // Frozen until just before the renewal.
  script = watched(15s);
  script.frozen = {{500ms, 9900ms}};
  script.troubles = {trouble(What::watch_hold, 0s, k_ever, Trouble::Kind::silent)};
  World late(script);
  CHECK(has(late.run(), "9.9s watch_hold ?, 10s renew, "));
  CHECK_KEPT(late);
}

TEST_CASE("changes: a check that finds the lock held is no renewal: neither guard nor end moves") {
  Script script = watched(60s);
  script.hand_offs = {{5s}, {6s}};
  script.troubles = {trouble(What::renew, 0s, k_ever, Trouble::Kind::silent)};
  script.term_takes.reset();
  World world(script);
  const std::string all = world.run();
  CHECK(has(all, "1s await changed, 5s check held, 5s await changed, 6s check held, "));
  CHECK(has(all, "6s await cancelled, 10s renew ?, "));
  CHECK(has(all, "19.39s TERM"));
  CHECK(has(all, "29.39s KILL"));
  CHECK(world.guard_told() == std::vector<std::string>{"29.39s"});
  CHECK(world.outcome()->kind == Outcome::Kind::lost);
  CHECK_KEPT(world);
}

TEST_CASE("changes: a change near the time of a renewal causes a renewal") {
  Script script = watched(12s);
  script.hand_offs = {{8s}};
  World world(script);
  CHECK(has(world.run(), "1s await changed, 8s renew, 8s await "));
  CHECK_KEPT(world);
}

TEST_CASE("changes: a check does not delay the renewal, and near its time is one") {
  Script script = watched(25s);
  for (Duration when = 2s; when < 24s; when += 100ms)
    script.hand_offs.push_back({when});
  World world(script);
  world.run();
  CHECK(world.asked(What::renew) == std::vector<Duration>{8s, 16s, 24s});
  CHECK(world.asked(What::check).size() > 15);
  CHECK(world.asked(What::check).size() < 30);
  CHECK(world.guard_told() == std::vector<std::string>{"29.39s", "37.39s", "45.39s", "53.39s"});
  CHECK_KEPT(world);
}

TEST_CASE("changes: a loss found by a check stops the child as one found by a renewal") {
  Script script = watched(60s);
  script.lost_from = 5s;
  script.hand_offs = {{5s}};
  script.term_takes.reset();
  World world(script);
  CHECK(has(world.run(),
            "1s await changed, 5s check lost, 5s TERM, 6s KILL, 6s ended, 6s exit lost"));
  CHECK(world.said() == "0s granted, 5s lost, 5s signalled, 6s killed, 6s ended");
  CHECK(world.notices()[1].holding.value().owners.at(0).id == "bob:1");
  CHECK(world.guard_told() == std::vector<std::string>{"29.39s", "6s"});
  CHECK_KEPT(world);
}

TEST_CASE("changes: a loss from before the watch stops the child too") {
  Script script = watched(60s);
  script.lost_from = 500ms;
  World world(script);
  CHECK(has(world.run(), "1s watch_hold, 1s check lost, 1s TERM, 1s ended, 1s exit lost"));
  CHECK_KEPT(world);
}

TEST_CASE("changes: a revoked hold is stopped at once, and released") {
  Script script = watched(60s);
  script.revoked_from = 5s;
  script.hand_offs = {{5s}, {6s}};
  script.term_takes = 4s;
  World world(script);
  CHECK(has(world.run(), "5s check revoked, 5s TERM, 9s ended, 9s release, 9s exit lost"));
  CHECK(world.said() == "0s granted, 5s revoked, 5s signalled, 9s ended, 9s released");
  CHECK_KEPT(world);
}

TEST_CASE("changes: with on_lost warn a loss is reported at once, and nothing more is asked") {
  Script script = watched(60s);
  script.on_lost = OnLost::warn;
  script.lost_from = 5s;
  script.hand_offs = {{5s}, {6s}, {7s}};
  World world(script);
  CHECK(has(world.run(), "1s await changed, 5s check lost, 60s ended, 60s exit 0"));
  CHECK(world.said() == "0s granted, 5s lost runs_on, 60s ended");
  CHECK_KEPT(world);
}

TEST_CASE("changes: a check without an answer is an unanswered renewal: a renewal follows") {
  for (const auto kind :
       {Trouble::Kind::silent, Trouble::Kind::answers_lost, Trouble::Kind::error}) {
    Script script = watched(25s);
    script.hand_offs = {{5s}};
    script.troubles = {trouble(What::check, 5s, 6s, kind)};
    World world(script);
    const std::string all = world.run();
    const bool at_once = kind == Trouble::Kind::error;
    const std::string again = at_once ? "5.1s" : "8.1s";
    CHECK(has(all, "5s check ?, " + again + " renew, " + again + " await cancelled, "));
    CHECK(world.said(Kind::unreachable));
    CHECK_KEPT(world);
  }
}

TEST_CASE(
    "changes: after a broken connection the watch starts again a second later, with a check") {
  Script script = watched(15s);
  script.troubles = {trouble(What::await_hand_off, 1s, 2500ms, Trouble::Kind::error)};
  World world(script);
  CHECK(
      has(world.run(),
          "1s await ?, 2s watch_hold, 2s check held, 2s await ?, 3s watch_hold, 3s check held, 3s "
          "await cancelled, 10s renew, 10s await cancelled, 15s ended"));
  CHECK_FALSE(world.said(Kind::unreachable));
  CHECK_KEPT(world);
}

TEST_CASE("changes: repeated failures of any kind do not make a loop without a pause") {
  for (const What what : {What::await_hand_off, What::watch_hold, What::check}) {
    for (const Duration latency : {Duration(0s), Duration(1ms)}) {
      CAPTURE(static_cast<int>(what));
      Script script = watched(60s);
      script.latency = latency;
      script.troubles = {trouble(what, 0s, k_ever, Trouble::Kind::error)};
      World world(script);
      world.run();
      CHECK(world.outcome()->kind == Outcome::Kind::child);
      CHECK(world.asks().size() < 400);
      CHECK(world.asked(What::renew).size() >= 5);
      CHECK_KEPT(world);
    }
  }
}

TEST_CASE("changes: a watch that fails is tried again after a renewal") {
  Script script = watched(25s);
  script.troubles = {trouble(What::watch_hold, 1s, 5s, Trouble::Kind::error)};
  World world(script);
  CHECK(has(world.run(), "1s watch_hold ?, 10s renew, 10s watch_hold, 10s check held, 10s await"));
  CHECK_KEPT(world);
}

TEST_CASE("changes: no watch begins while renewals fail") {
  Script script = watched(60s);
  script.troubles = {trouble(What::await_hand_off, 8s, 9s, Trouble::Kind::error),
                     trouble(What::renew, 0s, 15s, Trouble::Kind::error)};
  script.hand_offs = {{8500ms}};
  World world(script);
  world.run();
  for (const Duration when : world.asked(What::watch_hold))
    CHECK((when < 10s || when > 15s));
  CHECK_KEPT(world);
}

TEST_CASE("changes: a store without notifications is reported once, and not asked again") {
  for (const Errc code : {Errc::refused, Errc::denied}) {
    Script script = watched(60s);
    script.watch_error = Error{code, "not for you"};
    World world(script);
    world.run();
    CHECK(world.asked(What::watch_hold) == std::vector<Duration>{1s});
    CHECK(world.asked(What::check).empty());
    CHECK(world.asked(What::await_hand_off).empty());
    CHECK(count(world, Kind::untracked) == 1);
    CHECK(world.notices()[1].text == "not for you");
    CHECK(world.asked(What::renew).size() == 6);
    CHECK_KEPT(world);
  }
  Script script = watched(60s);
  script.untracked_because = "no tracking";
  World untracked(script);
  untracked.run();
  CHECK(untracked.asked(What::watch_hold) == std::vector<Duration>{1s});
  CHECK(count(untracked, Kind::untracked) == 1);
  CHECK_KEPT(untracked);
}

TEST_CASE(
    "changes: an end while the hold is watched, or while the watch begins, is released at once") {
  World listening(watched(5s));
  CHECK(has(listening.run(), "1s await cancelled, 5s ended, 5s release, 5s exit 0"));
  Script script = watched(2s);
  script.troubles = {trouble(What::watch_hold, 0s, k_ever, Trouble::Kind::silent)};
  World watching(script);
  CHECK(has(watching.run(), "1s watch_hold cancelled, 2s ended, 2s release, 2s exit 0"));
  CHECK_KEPT(listening);
  CHECK_KEPT(watching);
}

TEST_CASE("changes: a change during a renewal causes no check before its answer") {
  Script script = watched(25s);
  script.hand_offs = {{10500ms}};
  script.troubles = {{.from = 10s,
                      .until = 10100ms,
                      .kind = Trouble::Kind::slow,
                      .delay = 1s,
                      .only = What::renew}};
  World world(script);
  CHECK(has(world.run(), "10s renew, 11s await changed, 11s check held, 11s await"));
  CHECK_KEPT(world);
}

TEST_CASE("changes: there is no check of a hold whose lease has ended, or that was lost") {
  Script script = watched(60s);
  script.frozen = {{5s, 40s}};
  script.hand_offs = {{8s}, {39s}};
  World slept(script);
  CHECK(has(slept.run(), "1s await changed, 40s KILL, 40s ended, 40s release, 40s exit lost"));
  script = watched(60s);
  script.lost_from = 5s;
  script.hand_offs = {{5s}, {5100ms}, {5200ms}};
  script.term_takes.reset();
  World lost(script);
  CHECK(has(lost.run(), "5s check lost, 5s TERM, 6s KILL, 6s ended, 6s exit lost"));
  CHECK_KEPT(lost);
}

TEST_CASE("changes: a lock that changes all the time is checked once a second") {
  Script script = watched(6500ms);
  for (Duration when = 3s; when < 6500ms; when += 100ms)
    script.hand_offs.push_back({when});
  World world(script);
  world.run();
  const auto looks = world.asked(What::check);
  CHECK(looks == std::vector<Duration>{1s, 3s, 3100ms, 3200ms, 3300ms, 4s, 5s, 6s});
  CHECK_KEPT(world);
}

TEST_CASE(
    "changes: each of a few changes in a row is checked at once, from the start of the watch") {
  Script script = watched(60s);
  script.hand_offs = {{1010ms}, {1020ms}, {1030ms}};
  script.lost_from = 1030ms;
  World world(script);
  CHECK(has(world.run(),
            "1s check held, 1s await changed, 1.01s check held, 1.01s await changed, 1.02s check "
            "held, 1.02s await changed, 1.03s check lost, 1.03s TERM"));
  CHECK_KEPT(world);
}

TEST_CASE("changes: a loss among many changes is found within a second, also before a renewal") {
  for (const Duration lost : {5500ms, 8100ms, 8900ms}) {
    CAPTURE(test::seconds_text(lost));
    Script script = watched(60s);
    for (Duration before = 500ms; before >= 0ms; before -= 100ms)
      script.hand_offs.push_back({lost - before});
    script.lost_from = lost;
    World world(script);
    const std::string all = world.run();
    CAPTURE(all);
    CAPTURE(world.said());
    REQUIRE(world.outcome()->kind == Outcome::Kind::lost);
    CHECK(has(world.said(), test::seconds_text(lost + 500ms) + " lost"));
    CHECK_KEPT(world);
  }
}

TEST_CASE("changes: the watch continues while leftovers of the command live") {
  Script script = watched(2s);
  script.leaves_group = true;
  script.group_term_takes.reset();
  script.group_kill_takes = 30s;
  script.lost_from = 5s;
  script.hand_offs = {{5s}};
  World world(script);
  CHECK(has(world.run(), "5s check lost"));
  CHECK(world.outcome()->kind == Outcome::Kind::lost);
  CHECK_KEPT(world);
}

}  // namespace dlock
