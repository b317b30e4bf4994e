// SPDX-License-Identifier: MIT
// Holding a lock: start, renewals, losses, stopping, release. acquire_loop_test.cpp has the wait,
// run_signals_test.cpp the signals. The ttl is 30 s and kill-after 10 s, counted from the newest
// confirmed request: renewal at 10 s, TERM at 19.39 s, KILL at 29.39 s; the lease is safe until
// 29.69 s.
#include "core/run_session.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "support/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::k_ever;
using test::long_run;
using test::Script;
using test::short_run;
using test::Trouble;
using test::What;
using test::World;
using Kind = Notice::Kind;

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("the lock is acquired, renewed every third of its lease, and released after the child") {
  Script script = short_run(25s);
  script.status = {ChildStatus::Kind::exited, 7};
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew, 20s renew, 25s ended, 25s release, 25s exit 7");
  CHECK(world.said() == "0s granted, 10s renewed, 20s renewed, 25s ended, 25s released");
  CHECK_KEPT(world);
}

TEST_CASE("N08: the lease is counted from when the request was sent, not from its answer") {
  Script script = long_run();
  script.troubles = {{.from = 0s, .until = 1s, .kind = Trouble::Kind::slow, .delay = 4s},
                     {.from = 1s, .until = k_ever, .kind = Trouble::Kind::silent}};
  World world(script);
  world.run();
  // Granted at 4 s for a request of 0 s: TERM at 19.39 s, not at 23.39 s.
  CHECK(world.said().starts_with("1s store_away, 4s granted"));
  CHECK(world.said().find("19.39s lapsing") != std::string::npos);
  CHECK_KEPT(world);

  script.troubles = {{.from = 10s, .until = 11s, .kind = Trouble::Kind::slow, .delay = 2s},
                     {.from = 11s, .until = k_ever, .kind = Trouble::Kind::silent}};
  World renewed(script);
  renewed.run();
  CHECK(renewed.said().find("12s renewed") != std::string::npos);
  CHECK(renewed.said().find("29.39s lapsing") != std::string::npos);
  CHECK_KEPT(renewed);
}

TEST_CASE("N12: a grant that leaves less than a renewal interval is released, not used") {
  Script script = long_run();
  script.connect_timeout = 20s;
  // term_at is 19.39 s and a renewal interval 10 s: 9.39 s is just in time.
  script.troubles = {{.from = 0s, .until = 1s, .kind = Trouble::Kind::slow, .delay = 9390ms}};
  CHECK(World(script).run(9400ms) == "0s acquire granted, 9.39s start");
  script.troubles.front().delay = 9391ms;
  World late(script);
  CHECK(late.run() == "0s acquire granted, 9.391s release, 9.391s exit failed");
  CHECK_FALSE(late.held());
  CHECK(late.outcome()->error.code == Errc::unavailable);
  CHECK(late.outcome()->error.text ==
        "the grant took 9.3s to arrive: too slow for a lease of 30s; use a longer --ttl");
  CHECK_KEPT(late);
}

TEST_CASE("an unreachable store stops the child before the lease can end") {
  Script script = long_run();
  script.troubles = {{.from = 1s, .until = k_ever, .kind = Trouble::Kind::error}};
  script.term_takes.reset();
  World world(script);
  CHECK(world.run(19300ms) ==
        "0s acquire granted, 0s start, 10s renew ?, 10.1s renew ?, 10.3s renew ?, 10.7s renew ?, "
        "11.5s renew ?, 13.1s renew ?, 16.1s renew ?, 19.1s renew ?");
  CHECK(world.run(29390ms).find("19.39s TERM, 22.1s renew ?, 25.1s renew ?, 28.1s renew ?, "
                                "29.39s KILL, 29.39s ended, 29.39s release ?") !=
        std::string::npos);
  world.run();
  CHECK(world.outcome()->kind == Outcome::Kind::lost);
  CHECK(world.said().find("19.39s lapsing") != std::string::npos);
  CHECK(world.said().find("29.39s killed") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("each renewal of a silent store has its own limit of a tenth of the lease") {
  Script script = long_run();
  script.troubles = {{.from = 1s, .until = k_ever, .kind = Trouble::Kind::silent}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew ?, 13.1s renew ?, 16.3s renew ?, 19.39s TERM, "
        "19.39s ended, 19.39s release ?, 20.49s release ?, 21.59s release ?, 22.69s release ?, "
        "23.79s release ?, 24.79s exit lost");
  CHECK(world.said().find("lapsing, ") != std::string::npos);
  CHECK(world.said(Kind::release_unknown));
  CHECK_KEPT(world);
}

TEST_CASE("an unknown renewal is neither held nor lost: the child runs on, the clock does not") {
  for (const Errc code : {Errc::timed_out,
                          Errc::unavailable,
                          Errc::refused,
                          Errc::denied,
                          Errc::protocol,
                          Errc::system}) {
    CAPTURE(static_cast<int>(code));
    Script script = short_run(30s);
    script.troubles = {{.from = 10s, .until = 12s, .kind = Trouble::Kind::error, .code = code}};
    World world(script);
    CHECK(world.run() ==
          "0s acquire granted, 0s start, 10s renew ?, 10.1s renew ?, 10.3s renew ?, 10.7s renew "
          "?, 11.5s renew ?, 13.1s renew, 23.1s renew, 30s ended, 30s release, 30s exit 0");
    CHECK(world.said(Kind::unreachable));
    CHECK_FALSE(world.said(Kind::lapsing));
    CHECK_KEPT(world);
  }
}

TEST_CASE("retries of a renewal start at 100 ms again after one that was confirmed") {
  Script script = short_run(35s);
  script.troubles = {{.from = 10s, .until = 11s, .kind = Trouble::Kind::error},
                     {.from = 21s, .until = 22s, .kind = Trouble::Kind::error}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew ?, 10.1s renew ?, 10.3s renew ?, 10.7s renew ?, "
        "11.5s renew, 21.5s renew ?, 21.6s renew ?, 21.8s renew ?, 22.2s renew, 32.2s renew, 35s "
        "ended, 35s release, 35s exit 0");
  CHECK_KEPT(world);
}

TEST_CASE("N07: a renewal whose answer was lost does not move the deadline") {
  Script script = long_run();
  script.troubles = {{.from = 10s, .until = k_ever, .kind = Trouble::Kind::answers_lost}};
  World world(script);
  world.run();
  CHECK(world.said().find("19.39s lapsing") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("a definite loss: TERM at once, KILL after a second, nothing to release") {
  Script script = long_run();
  script.lost_from = 15s;
  script.term_takes.reset();
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew, 20s renew lost, 20s TERM, 21s KILL, 21s ended, "
        "21s exit lost");
  CHECK(world.said() == "0s granted, 10s renewed, 20s lost, 20s signalled, 21s killed, 21s ended");
  CHECK(world.notices()[2].holding.value().owners.at(0).id == "bob:1");
  CHECK_KEPT(world);
}

TEST_CASE("after a loss the grace is kill-after where that is shorter than a second") {
  Script script = long_run();
  script.kill_after = 300ms;
  script.lost_from = 5s;
  script.term_takes.reset();
  CHECK(World(script).run() ==
        "0s acquire granted, 0s start, 10s renew lost, 10s TERM, 10.3s KILL, 10.3s ended, "
        "10.3s exit lost");
}

TEST_CASE("a loss that is learnt late brings the KILL forward, never back") {
  Script script = long_run();
  script.troubles = {{.from = 10s, .until = 19500ms, .kind = Trouble::Kind::error}};
  script.lost_from = 1s;
  script.term_takes.reset();
  World world(script);
  // TERM at 19.39 s for the clock; the verdict at 22.1 s makes 29.39 s into 23.1 s.
  const std::string all = world.run();
  CHECK(all.find("19.39s TERM, 22.1s renew lost, 23.1s KILL, 23.1s ended, 23.1s exit lost") !=
        std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("revoked: TERM, no more renewals, released after death, and the outcome is lost") {
  Script script = long_run();
  script.revoked_from = 5s;
  script.term_takes = 4s;
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew revoked, 10s TERM, 14s ended, 14s release, "
        "14s exit lost");
  CHECK(world.said() == "0s granted, 10s revoked, 10s signalled, 14s ended, 14s released");
  CHECK(world.notices().at(1).text == "ann@host");
  CHECK_FALSE(world.held());
  CHECK_KEPT(world);
}

TEST_CASE("revoked: KILL after kill-after, but before the lease that is not renewed any more") {
  Script script = long_run();
  script.revoked_from = 5s;
  script.term_takes.reset();
  CHECK(World(script).run() ==
        "0s acquire granted, 0s start, 10s renew revoked, 10s TERM, 20s KILL, 20s ended, "
        "20s release, 20s exit lost");
  script.troubles = {{.from = 10s, .until = 19s, .kind = Trouble::Kind::error}};
  script.kill_after = 15s;
  World late(script);
  late.run();
  // Renewals fail until 19.1 s; TERM is due at 14.39 s, and the KILL stays at 29.39 s.
  CHECK(late.said().find("29.39s killed") != std::string::npos);
  CHECK_KEPT(late);
}

TEST_CASE("with on_lost warn the child runs on, and the loss is reported once") {
  for (const bool lost : {true, false}) {
    CAPTURE(lost);
    Script script = short_run(60s);
    script.on_lost = OnLost::warn;
    script.troubles = {{.from = 10s, .until = 40s, .kind = Trouble::Kind::error}};
    if (lost) script.lost_from = 40s;
    World world(script);
    const std::string all = world.run();
    CHECK(all.find("TERM") == std::string::npos);
    CHECK(all.find("KILL") == std::string::npos);
    CHECK(all.find("60s exit 0") != std::string::npos);
    CHECK(world.said().find("19.39s lapsing runs_on") != std::string::npos);
    CHECK(world.said().find("runs_on", world.said().find("runs_on") + 1) == std::string::npos);
    CHECK((world.asked(What::release).size() == 1) == !lost);
    CHECK_KEPT(world);
  }
}

TEST_CASE("with on_lost warn a verdict is reported with its reason, and renewing ends") {
  Script script = short_run(60s);
  script.on_lost = OnLost::warn;
  script.lost_from = 5s;
  World world(script);
  CHECK(world.run() == "0s acquire granted, 0s start, 10s renew lost, 60s ended, 60s exit 0");
  CHECK(world.said() == "0s granted, 10s lost runs_on, 60s ended");
  CHECK(world.notices().at(1).holding.value().owners.at(0).id == "bob:1");
}

TEST_CASE("C06: a child that slept past kill_at gets KILL and no TERM") {
  Script script = long_run();
  script.frozen = {{5s, 40s}};
  World world(script);
  const std::string all = world.run();
  CHECK(all.find("0s acquire granted, 0s start, 40s KILL, ") == 0);
  CHECK(world.said() == "0s granted, 40s lapsing, 40s killed, 40s ended, 40s released");
  for (const std::size_t said : {1U, 2U})
    CHECK(world.notices().at(said).kill == KillReason::lapsed);
  CHECK(all.find("TERM") == std::string::npos);
  CHECK(all.find("exit lost") != std::string::npos);
}

TEST_CASE("C06: a child that slept past term_at gets TERM before a renewal is even asked for") {
  Script script = long_run();
  script.frozen = {{5s, 25s}};
  script.term_takes.reset();
  World world(script);
  CHECK(world.run().find("0s start, 25s TERM, 25s renew, 29.39s KILL, 29.39s ended, 29.39s "
                         "release, 29.39s exit lost") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("after a stop and a continuation the clock is read first") {
  for (const bool too_late : {true, false}) {
    Script script = long_run();
    World world(script);
    world.run(1s);
    const Time start = Time(1000s);
    const auto actions = world.session().on(event::Resumed{}, start + (too_late ? 35s : 20s));
    const action::SignalGroup* first = nullptr;
    for (const Action& action : actions) {
      if (first == nullptr) first = std::get_if<action::SignalGroup>(&action);
      CHECK_FALSE(std::holds_alternative<action::Ask>(action));
    }
    REQUIRE(first != nullptr);
    CHECK(first->signal == (too_late ? SIGKILL : SIGTERM));
  }
}

TEST_CASE("a renewal that is confirmed after term_at does not revive the child") {
  Script script = long_run();
  script.term_takes.reset();
  // Sent at 19.1 s, confirmed at 19.6 s.
  script.troubles = {{.from = 10s, .until = 19s, .kind = Trouble::Kind::error},
                     {.from = 19s, .until = 20s, .kind = Trouble::Kind::slow, .delay = 500ms}};
  World world(script);
  const std::string all = world.run();
  CHECK(all.find("19.1s renew, 19.39s TERM, ") != std::string::npos);
  CHECK(world.said().find("19.6s renewed") != std::string::npos);
  CHECK(all.find("29.39s KILL, 29.39s ended, ") != std::string::npos);
  CHECK(all.find("exit lost") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("KILL is repeated while the child lives, and the lock is kept renewed meanwhile") {
  Script script = long_run();
  script.kill_after = 2s;
  script.signals = {{1s, SIGTERM}};
  script.term_takes.reset();
  script.kill_takes = 12s;
  World world(script);
  const std::string all = world.run();
  CHECK(all.find("1s <TERM>, 1s TERM, 3s KILL, 4s KILL, 5s KILL, ") != std::string::npos);
  CHECK(world.asked(What::renew) == std::vector<Duration>{10s});
  CHECK(all.find("15s ended, 15s release, 15s exit by KILL") != std::string::npos);
  CHECK(world.said().find("3s killed, 4s cannot_kill, 5s cannot_kill") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("leftovers of the command are stopped before the lock is released") {
  Script script = short_run(5s);
  script.leaves_group = true;
  script.group_term_takes = 100ms;
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 5s ended, 5s TERM, 5.1s group gone, 5.1s release, "
        "5.1s exit 0");
  CHECK(world.said(Kind::leftovers));
  script.group_term_takes.reset();
  World stubborn(script);
  CHECK(stubborn.run() ==
        "0s acquire granted, 0s start, 5s ended, 5s TERM, 5.5s KILL, 5.5s group gone, 5.5s "
        "release, 5.5s exit 0");
  CHECK_KEPT(world);
  CHECK_KEPT(stubborn);
}

TEST_CASE("a lease that ends while leftovers live is lost, whatever the command returned") {
  Script script = short_run(5s);
  script.leaves_group = true;
  script.group_term_takes.reset();
  script.frozen = {{5200ms, 40s}};
  World world(script);
  const std::string all = world.run();
  CHECK(all.find("exit lost") != std::string::npos);
  CHECK(world.said(Kind::lapsing));
  CHECK_KEPT(world);
}

TEST_CASE("the lease is kept for leftovers that do not die, and they are killed repeatedly") {
  Script script = short_run(9s);
  script.leaves_group = true;
  script.group_term_takes.reset();
  script.group_kill_takes = 15s;
  World world(script);
  const std::string all = world.run();
  CHECK(world.asked(What::renew) == std::vector<Duration>{10s, 20s});
  CHECK(all.find("24.5s group gone, 24.5s release, 24.5s exit 0") != std::string::npos);
  CHECK_KEPT(world);
}

}  // namespace dlock
