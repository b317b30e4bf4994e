// SPDX-License-Identifier: MIT
// How long a hold may last: max_hold, and a lease without renewal; and when the wait for it begins:
// splay. With a ttl of 30 s and a kill-after of 10 s: TERM at 19.39 s, KILL at 29.39 s; the lease
// is safe until 29.69 s.
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

Script at_most(Duration max_hold) {
  Script script;
  script.max_hold = max_hold;
  return script;
}

Script fixed_lease() {
  Script script;
  script.renew = false;
  return script;
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

// --- max_hold --------------------------------------------------------------------------------

TEST_CASE("max_hold: a command that ends before its time is over is not touched") {
  Script script = at_most(10s);
  script.runs_for = 9999ms;
  World world(script);
  CHECK(world.run() == "0s acquire granted, 0s start, 9.999s ended, 9.999s release, 9.999s exit 0");
  CHECK_FALSE(world.said(Kind::time_up));
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: when it is over the command gets TERM, its grace, KILL, and 124 is the end") {
  Script script = at_most(5s);
  World obedient(script);
  CHECK(obedient.run() ==
        "0s acquire granted, 0s start, 5s TERM, 5s ended, 5s release, 5s exit time_up");
  CHECK(obedient.said() == "0s granted, 5s time_up, 5s signalled, 5s ended, 5s released");
  CHECK(obedient.notices()[1].span == 5s);
  CHECK_FALSE(obedient.outcome()->summary.lost);
  CHECK_KEPT(obedient);

  script.term_takes.reset();
  World deaf(script);
  CHECK(has(deaf.run(), "5s TERM, 10s renew, 15s KILL, 15s ended, 15s release, 15s exit time_up"));
  CHECK(deaf.said(Kind::killed));
  CHECK_KEPT(deaf);
}

TEST_CASE("max_hold: the lease is kept while the command is being stopped, and the guard knows") {
  Script script = at_most(25s);
  script.term_takes = 9s;
  World world(script);
  CHECK(has(world.run(), "20s renew, 25s TERM, 30s renew, 34s ended, 34s release, 34s exit time"));
  CHECK(world.guard_told() == std::vector<std::string>{"29.39s", "39.39s", "49.39s", "35s"});
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: the time counts from the grant, not from the start of the wait") {
  Script script = at_most(5s);
  script.free_from = 60s;
  script.hand_offs = {{60s}};
  World world(script);
  CHECK(has(world.run(), "60s start, 65s TERM, 65s ended, 65s release, 65s exit time_up"));
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: 124 whatever the command returns, also 0") {
  Script script = at_most(5s);
  script.runs_for = 6s;
  script.term_takes = 2s;  // it ends by itself before the signal has had its effect
  World world(script);
  CHECK(has(world.run(), "5s TERM, 6s ended, 6s release, 6s exit time_up"));
  CHECK(world.outcome()->child == ChildStatus{ChildStatus::Kind::exited, 0});
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: the outcome is that of the first cause of the stop") {
  Script script = at_most(5s);
  script.term_takes = 3s;
  script.signals = {{4s, SIGTERM}};
  World user_first(script);
  CHECK(has(user_first.run(), "4s <TERM>, 4s TERM, 7s ended, 7s release, 7s exit by TERM"));
  CHECK_FALSE(user_first.said(Kind::time_up));
  CHECK_KEPT(user_first);

  script.signals = {{6s, SIGTERM}};
  World time_first(script);
  CHECK(has(time_first.run(), "5s TERM, 6s <TERM>, 6s TERM, 8s ended, 8s release, 8s exit time"));
  CHECK_KEPT(time_first);

  script.term_takes.reset();
  script.signals = {{6s, SIGTERM}, {7s, SIGTERM}};
  World twice(script);
  CHECK(has(twice.run(), "7s <TERM>, 7s KILL, 7s ended, 7s release, 7s exit time_up"));
  CHECK_KEPT(twice);
}

TEST_CASE("max_hold: a lease that is lost during the stop makes the outcome a loss") {
  Script script = at_most(9s);
  script.term_takes.reset();
  script.lost_from = 10s;
  World world(script);
  CHECK(has(world.run(), "9s TERM, 10s renew lost, 11s KILL, 11s ended, 11s exit lost"));
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: leftovers of the command are stopped in any case, without 124") {
  Script script = at_most(5s);
  script.runs_for = 4800ms;
  script.leaves_group = true;
  script.group_term_takes.reset();
  World world(script);
  CHECK(has(world.run(), "4.8s TERM, 5.3s KILL, 5.3s group gone, 5.3s release, 5.3s exit 0"));
  CHECK_FALSE(world.said(Kind::time_up));
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: leftovers of a command that is stopped at its end are killed with it") {
  Script script = at_most(5s);
  script.leaves_group = true;
  script.group_term_takes.reset();
  World world(script);
  CHECK(has(world.run(),
            "5s TERM, 5s ended, 10s renew, 15s KILL, 15s group gone, 15s release, 15s exit time"));
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: contained processes that outlive the command are stopped when it is over") {
  Script script = at_most(5s);
  script.contain = true;
  script.runs_for = 1s;
  script.leaves_group = true;
  script.group_term_takes = 2s;
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 1s ended, 5s TERM, 7s group gone, 7s release, 7s exit "
        "time_up");
  CHECK(world.said() == "0s granted, 1s ended, 1s outlived, 5s time_up, 5s signalled, 7s released");
  CHECK_KEPT(world);
}

TEST_CASE("max_hold: the stop uses the configured signal, also where losses only warn") {
  Script script = at_most(5s);
  script.stop_signal = SIGUSR1;
  script.on_lost = OnLost::warn;
  script.lost_from = 1s;
  script.news = true;
  World world(script);
  CHECK(has(world.run(), "1s check lost, 5s USR1, 5s ended, 5s exit time_up"));
  CHECK_KEPT(world);
  script.lost_from.reset();
  script.news = false;
  script.term_takes.reset();
  World guarded(script);
  guarded.run();
  CHECK(guarded.guard_told() == std::vector<std::string>{"never", "15s"});
  CHECK_KEPT(guarded);
}

TEST_CASE("max_hold: a dlock that was frozen when it ended stops the command on its return") {
  Script script = at_most(5s);
  script.frozen = {{3s, 12s}};
  script.term_takes.reset();
  World world(script);
  CHECK(has(world.run(), "12s TERM, 12s renew, 22s KILL, "));
  CHECK(world.outcome()->kind == Outcome::Kind::time_up);
  CHECK_KEPT(world);
}

// --- a lease that is not renewed ----------------------------------------------------------------

TEST_CASE(
    "no renewal: the command is stopped before the lease ends, without a request to the store") {
  World world(fixed_lease());
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 19.39s TERM, 19.39s ended, 19.39s release, 19.39s exit "
        "time_up");
  CHECK(world.said() ==
        "0s granted, 19.39s time_up, 19.39s signalled, 19.39s ended, 19.39s released");
  CHECK(world.notices()[1].span == 0s);
  CHECK_FALSE(world.outcome()->summary.lost);
  CHECK_KEPT(world);

  Script script = fixed_lease();
  script.term_takes.reset();
  World deaf(script);
  CHECK(
      has(deaf.run(), "19.39s TERM, 29.39s KILL, 29.39s ended, 29.39s release, 29.39s exit time"));
  CHECK(deaf.guard_told() == std::vector<std::string>{"29.39s"});
  CHECK(deaf.asked(What::renew).empty());
  CHECK_KEPT(deaf);
}

TEST_CASE("no renewal: also where losses only warn, and after a stop by any signal") {
  Script script = fixed_lease();
  script.on_lost = OnLost::warn;
  script.term_takes.reset();
  World warned(script);
  CHECK(
      has(warned.run(), "19.39s TERM, 29.39s KILL, 29.39s ended, 29.39s release, 29.39s exit tim"));
  CHECK(warned.guard_told() == std::vector<std::string>{"29.39s"});
  CHECK_KEPT(warned);

  script.on_lost = OnLost::stop;
  script.signals = {{19s, SIGTERM}};
  script.kill_after = 10s;
  World signalled(script);
  CHECK(
      has(signalled.run(), "19s <TERM>, 19s TERM, 29s KILL, 29s ended, 29s release, 29s exit by"));
  CHECK_KEPT(signalled);
}

TEST_CASE(
    "no renewal: a reported loss stops the command, and a check without an answer is repeated") {
  Script script = fixed_lease();
  script.news = true;
  script.lost_from = 5s;
  script.hand_offs = {{5s}};
  World lost(script);
  CHECK(has(lost.run(), "1s await changed, 5s check lost, 5s TERM, 5s ended, 5s exit lost"));
  CHECK_KEPT(lost);

  script.lost_from.reset();
  script.hand_offs = {{5s}, {15s}};
  script.troubles = {
      {.from = 5s, .until = 5500ms, .kind = Trouble::Kind::error, .only = What::check}};
  World unsure(script);
  CHECK(has(unsure.run(),
            "5s check ?, 5.1s check ?, 5.3s check ?, 5.7s check held, 5.7s await changed, 15s "
            "check held, 15s await cancelled, 19.39s TERM, 19.39s ended, 19.39s release"));
  CHECK(unsure.asked(What::renew).empty());
  CHECK_KEPT(unsure);
}

TEST_CASE("no renewal: a loss is noticed also while the command is being stopped") {
  Script script = fixed_lease();
  script.news = true;
  script.lost_from = 21s;
  script.hand_offs = {{21s}};
  script.term_takes.reset();
  World world(script);
  CHECK(has(world.run(), "19.39s TERM, 21s check lost, 22s KILL, 22s ended, 22s exit lost"));
  CHECK_KEPT(world);
}

TEST_CASE("no renewal: repeated failures of any kind do not make a loop without a pause") {
  for (const What what : {What::await_hand_off, What::watch_hold, What::check}) {
    CAPTURE(static_cast<int>(what));
    Script script = fixed_lease();
    script.news = true;
    script.ttl = 300s;
    script.latency = 1ms;
    script.troubles = {{.until = k_ever, .kind = Trouble::Kind::error, .only = what}};
    World world(script);
    world.run();
    CHECK(world.outcome()->kind == Outcome::Kind::time_up);
    CHECK(world.asks().size() < 1000);
    CHECK_KEPT(world);
  }
}

TEST_CASE("no renewal: a command that slept through its lease is killed without a TERM") {
  Script script = fixed_lease();
  script.frozen = {{5s, 40s}};
  World world(script);
  CHECK(has(world.run(), "0s start, 40s KILL, 40s ended, 40s release, 40s exit time_up"));
  for (const std::size_t said : {1U, 2U})
    CHECK(world.notices().at(said).kill == KillReason::lapsed);
  CHECK_KEPT(world);
}

TEST_CASE("no renewal: max_hold counts only if it is over before the lease ends") {
  Script script = fixed_lease();
  script.max_hold = 5s;
  CHECK(has(World(script).run(), "0s start, 5s TERM, 5s ended, 5s release, 5s exit time_up"));
  script.max_hold = 25s;
  World world(script);
  CHECK(has(world.run(), "0s start, 19.39s TERM, 19.39s ended, 19.39s release, 19.39s exit time"));
  CHECK_KEPT(world);
}

// --- splay -----------------------------------------------------------------------------------

TEST_CASE("splay: the first try comes after a random time of at most splay") {
  Script script;
  script.splay = 10s;
  script.runs_for = 1s;
  Duration least = 10s;
  Duration most{};
  for (script.seed = 1; script.seed <= 100; ++script.seed) {
    World world(script);
    const std::string ran = world.run();
    const Duration delay = world.notices().front().span;
    const std::string when = test::seconds_text(delay);
    CHECK(world.notices().front().kind == Kind::splay);
    CHECK(has(ran, when + " acquire granted, " + when + " start"));
    CHECK(delay <= 10s);
    CHECK(world.outcome()->summary.waited == 0s);
    least = std::min(least, delay);
    most = std::max(most, delay);
    CHECK_KEPT(world);
  }
  CHECK(least < 1s);
  CHECK(most > 9s);
}

TEST_CASE("splay: the wait counts from the first try on") {
  Script script;
  script.splay = 10s;
  script.wait = 5s;
  script.free_from.reset();
  World world(script);
  world.run();
  CHECK(world.outcome()->kind == Outcome::Kind::busy);
  CHECK(world.outcome()->summary.waited == 5s);
}

TEST_CASE("splay: a signal ends the run, and the store has not been asked") {
  Script script;
  script.splay = 1h;
  script.signals = {{1ms, SIGTERM}};
  World world(script);
  CHECK(world.run() == "0.001s <TERM>, 0.001s exit by own TERM");
  CHECK(world.outcome()->summary.waited == 0s);
  CHECK_KEPT(world);
}

}  // namespace dlock
