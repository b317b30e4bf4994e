// SPDX-License-Identifier: MIT
// Signals that a session receives. With a child they are passed to the child; without a child they
// end dlock, which must then leave nothing of its own in the store.
#include "core/run_session.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "support/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::Script;
using test::Trouble;
using test::What;
using test::World;
using Kind = Notice::Kind;

namespace {

std::optional<KillReason> why_killed(const World& world) {
  for (const Notice& notice : world.notices()) {
    if (notice.kind == Kind::killed) return notice.kill;
  }
  return {};
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("a TERM is passed on, KILL follows after kill-after, and the child's status counts") {
  Script script;
  script.signals = {{5s, SIGTERM}};
  script.term_takes = 3s;
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 5s <TERM>, 5s TERM, 8s ended, 8s release, 8s exit by TERM");
  CHECK_KEPT(world);

  script.term_takes.reset();
  World stubborn(script);
  CHECK(stubborn.run() ==
        "0s acquire granted, 0s start, 5s <TERM>, 5s TERM, 10s renew, 15s KILL, 15s ended, 15s "
        "release, 15s exit by KILL");
  CHECK(why_killed(stubborn) == KillReason::grace_over);
  CHECK_KEPT(stubborn);
}

TEST_CASE("a second TERM or INT kills at once") {
  Script script;
  script.signals = {{5s, SIGINT}, {6s, SIGTERM}};
  script.term_takes.reset();
  World world(script);
  CHECK(world.run().find("5s <INT>, 5s INT, 6s <TERM>, 6s KILL, 6s ended, 6s release, ") !=
        std::string::npos);
  CHECK(why_killed(world) == KillReason::second_signal);
  CHECK_KEPT(world);
}

TEST_CASE("other signals are passed on and change nothing else") {
  Script script;
  script.runs_for = 15s;
  script.signals = {{1s, SIGHUP}, {2s, SIGUSR1}, {3s, SIGWINCH}, {4s, SIGQUIT}, {5s, SIGHUP}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 1s <HUP>, 1s HUP, 2s <USR1>, 2s USR1, 3s <WINCH>, 3s "
        "WINCH, 4s <QUIT>, 4s QUIT, 5s <HUP>, 5s HUP, 10s renew, 15s ended, 15s release, 15s "
        "exit 0");
}

TEST_CASE(
    "a lease that expires in the grace of a TERM brings the KILL forward, without another TERM") {
  Script script;
  script.signals = {{18s, SIGTERM}};
  script.troubles = {{.from = 10s, .until = 24h, .kind = Trouble::Kind::error}};
  script.term_takes.reset();
  World world(script);
  const std::string all = world.run();
  CHECK(all.find("18s TERM") != std::string::npos);
  CHECK(all.find("19.39s TERM") == std::string::npos);
  CHECK(all.find("28s KILL, 28s ended") != std::string::npos);
  CHECK(all.find("exit lost") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("a signal during the first try interrupts and undoes it, and dlock dies by the signal") {
  Script script;
  script.signals = {{1s, SIGTERM}};
  script.troubles = {{.from = 0s, .until = 500ms, .kind = Trouble::Kind::silent}};
  World world(script);
  CHECK(world.run() == "0s acquire cancelled, 1s <TERM>, 1s undo not_held, 1s exit by own TERM");
  CHECK_KEPT(world);
}

TEST_CASE("a grant that comes after the signal is released, and no command is started") {
  Script script;
  script.signals = {{1s, SIGINT}};
  script.troubles = {{.from = 0s, .until = 500ms, .kind = Trouble::Kind::silent}};
  script.grant_despite_cancel = true;
  World world(script);
  CHECK(world.run() == "0s acquire granted, 1s <INT>, 1s release, 1s exit by own INT");
  CHECK_FALSE(world.child_started());
  CHECK_FALSE(world.held());
  CHECK_KEPT(world);
}

TEST_CASE("a signal while waiting for a hand-off ends dlock at once, there is nothing to undo") {
  Script script;
  script.free_from.reset();
  script.signals = {{2s, SIGHUP}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire busy, 0s watch front, 0s stand busy, 0s await cancelled, 2s <HUP>, 2s leave "
        "not_held, 2s exit by own HUP");
  CHECK_KEPT(world);
}

TEST_CASE("a signal between tries undoes the try that got no answer") {
  Script script;
  script.connect_timeout = 1s;
  script.troubles = {{.from = 0s, .until = 10s, .kind = Trouble::Kind::error},
                     {.from = 0s, .until = 10s, .kind = Trouble::Kind::answers_lost}};
  script.signals = {{10ms, SIGTERM}};
  World world(script);
  CHECK(world.run() == "0s acquire ?, 0.01s <TERM>, 0.01s undo ?, 0.01s exit by own TERM");
  CHECK_KEPT(world);
}

TEST_CASE("an undo has little time, so that a signal ends dlock soon also without a store") {
  Script script;
  script.signals = {{1s, SIGTERM}};
  script.troubles = {{.from = 0s, .until = 24h, .kind = Trouble::Kind::silent}};
  World world(script);
  CHECK(world.run() == "0s acquire cancelled, 1s <TERM>, 1s undo ?, 1.15s exit by own TERM");
}

TEST_CASE("at a store known to be slow an undo has three times its slowest answer, or a second") {
  Script script;
  script.free_from.reset();
  script.signals = {{5s, SIGTERM}};
  script.troubles = {{.from = 2s, .until = 24h, .kind = Trouble::Kind::silent}};
  script.latency = 200ms;
  World slow(script);
  CHECK_MESSAGE(slow.run().find("5s <TERM>, 5s undo ?, 5.6s exit by own TERM") != std::string::npos,
                slow.run());
  script.latency = 400ms;
  World slower(script);
  CHECK(slower.run().find("5s undo ?, 6s exit by own TERM") != std::string::npos);
}

TEST_CASE("a second signal while giving up changes nothing: a grant is still released") {
  Script script;
  script.signals = {{1s, SIGINT}, {1s, SIGTERM}, {1100ms, SIGINT}};
  script.troubles = {{.from = 0s, .until = 24h, .kind = Trouble::Kind::silent}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire cancelled, 1s <INT>, 1s <TERM>, 1s undo ?, 1.1s <INT>, 1.15s exit by own INT");
  script.troubles.clear();
  script.grant_despite_cancel = true;
  World granted(script);
  granted.run();
  CHECK_FALSE(granted.held());
}

TEST_CASE("a signal during the release limits the rest of it to a second") {
  Script script;
  script.runs_for = 5s;
  script.signals = {{6s, SIGTERM}};
  script.troubles = {{.from = 5s, .until = 24h, .kind = Trouble::Kind::error}};
  World world(script);
  world.run();
  REQUIRE(world.outcome());
  CHECK(world.said(Kind::release_unknown));
  CHECK(world.asked(What::release).back() >= 6s);
  CHECK(world.asked(What::release).back() <= 7s);
}

TEST_CASE("a grant that came with a signal and cannot be released is reported with the time left") {
  Script script;
  script.signals = {{1s, SIGTERM}};
  script.troubles = {{.from = 0s, .until = 24h, .kind = Trouble::Kind::silent}};
  script.grant_despite_cancel = true;
  World world(script);
  world.run();
  REQUIRE(world.outcome());
  CHECK(world.outcome()->kind == Outcome::Kind::signalled);
  CHECK(world.said(Kind::release_unknown));
}

}  // namespace dlock
