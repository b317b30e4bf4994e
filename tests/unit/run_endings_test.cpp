// SPDX-License-Identifier: MIT
// How a run ends: releases, releases with an unknown outcome, and that nothing follows Finish.
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

TEST_CASE("a child that could not be started ends in a release") {
  Script script = long_run();
  script.cannot_start = true;
  World world(script);
  CHECK(world.run() == "0s acquire granted, 0s start, 0s release, 0s exit failed");
  CHECK(world.outcome()->error.text == "cannot fork");
  CHECK_FALSE(world.held());
}

TEST_CASE("an exec that failed is the child's end, and the lock is released") {
  Script script = short_run(0s);
  script.status = {ChildStatus::Kind::not_started, 2};
  World world(script);
  CHECK(world.run() == "0s acquire granted, 0s start, 0s ended, 0s release, 0s exit not started");
}

TEST_CASE("P26: a store thread that hangs does not keep a run from ending") {
  Script script = short_run(5s);
  script.troubles = {{.from = 5s, .until = k_ever, .kind = Trouble::Kind::hung}};
  World world(script);
  CHECK(world.run() == "0s acquire granted, 0s start, 5s ended, 5s release, 9s exit 0");
  CHECK(world.said().find("9s release_unknown") != std::string::npos);
  CHECK(world.outcome()->summary.released == RunSummary::Released::unknown);

  // The lease may be over by then: told as well.
  script = short_run(5300ms);
  script.ttl = 3s;
  script.kill_after = 500ms;
  script.troubles = {{.from = 5300ms, .until = k_ever, .kind = Trouble::Kind::hung}};
  World late(script);
  late.run();
  REQUIRE(late.said(Kind::release_unknown));
  CHECK(late.notices().back().span == 0ns);

  Script waiting = long_run();
  waiting.signals = {{1s, SIGTERM}};
  waiting.troubles = {{.until = k_ever, .kind = Trouble::Kind::hung}};
  World hanging(waiting);
  CHECK(hanging.run() == "0s acquire, 1s <TERM>, 4s exit by own TERM");
}

TEST_CASE("a release without an answer is tried again") {
  Script script = short_run(5s);
  script.troubles = {{.from = 5s, .until = 5300ms, .kind = Trouble::Kind::error}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 5s ended, 5s release ?, 5.1s release ?, 5.2s release ?, "
        "5.3s release, 5.3s exit 0");
  CHECK(world.said() == "0s granted, 5s ended, 5.3s released");
  CHECK_KEPT(world);
}

TEST_CASE(
    "a release that stays unknown is reported with the time left, and the child's status counts") {
  Script script = short_run(5s);
  script.status = {ChildStatus::Kind::exited, 3};
  script.troubles = {{.from = 5s, .until = k_ever, .kind = Trouble::Kind::silent}};
  World world(script);
  world.run();
  REQUIRE(world.outcome());
  CHECK(world.outcome()->kind == Outcome::Kind::child);
  CHECK(world.outcome()->child.value == 3);
  REQUIRE(world.said(Kind::release_unknown));
  // Tries of 3 s until 10 s are over; the lease is good until 29.69 s.
  CHECK(world.notices().back().span == 29690ms - 10400ms);
}

TEST_CASE("a lock that is lost at the first release is reported") {
  Script script = short_run(5s);
  script.release_verdict = ReleaseVerdict::not_held;
  World world(script);
  CHECK(world.run() == "0s acquire granted, 0s start, 5s ended, 5s release not_held, 5s exit 0");
  CHECK(world.said() == "0s granted, 5s ended, 5s lost_at_release");
}

TEST_CASE("'not held' after a release without an answer is expected") {
  Script script = short_run(5s);
  script.troubles = {{.from = 5s, .until = 5100ms, .kind = Trouble::Kind::answers_lost}};
  World world(script);
  world.run();
  CHECK(world.said() == "0s granted, 5s ended, 6.1s released");
  CHECK_FALSE(world.held());
}

TEST_CASE("the end of the child interrupts a renewal: the release does not wait behind it") {
  Script script = short_run(11s);
  script.troubles = {{.from = 10s, .until = 10500ms, .kind = Trouble::Kind::slow, .delay = 2s}};
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew cancelled, 11s ended, 11s release, 11s exit 0");
  CHECK_KEPT(world);
}

TEST_CASE("a child that must stop gets the configured signal first") {
  Script script = long_run();
  script.stop_signal = SIGUSR1;
  script.lost_from = 5s;
  World world(script);
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 10s renew lost, 10s USR1, 10s ended, 10s exit lost");
}

TEST_CASE("after Finish no event causes an action") {
  Script script = short_run(1s);
  const Time later = Time(1000s) + 2s;
  const Grant grant{.holds = {{.name = *LockName::parse("n")}}, .sent_at = later};
  const std::vector<Event> events{event::Acquired{AcquireReply(grant)},
                                  event::Acquired{AcquireReply(Refusal{})},
                                  event::Acquired{Error{Errc::timed_out, "late"}},
                                  event::Watched{Watching{}},
                                  event::HandedOff{HandOff::turn},
                                  event::Renewed{RenewReply{}},
                                  event::Released{ReleaseVerdict::released},
                                  event::Signal{SIGTERM},
                                  event::StartFailed{{Errc::system, "x"}},
                                  event::ChildEnded{{}, false},
                                  event::ChildEnded{{}, true},
                                  event::GroupGone{},
                                  event::Resumed{},
                                  event::Tick{}};
  for (std::size_t i = 0; i < events.size(); ++i) {
    CAPTURE(i);
    World world(script);
    world.run();
    REQUIRE(world.outcome());
    CHECK(world.session().on(events[i], later).empty());
    CHECK_FALSE(world.session().next_deadline());
  }
}

}  // namespace dlock
