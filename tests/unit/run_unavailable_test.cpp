// SPDX-License-Identifier: MIT
// --on-unavailable: when a run whose store is away is skipped or goes on without the lock, and when
// it fails all the same.
#include "core/run_session.hpp"

#include <doctest/doctest.h>

#include <csignal>

#include "support/scripted_world.hpp"
#include "support/waiting.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::k_ever;
using test::Script;
using test::short_run;
using test::Trouble;
using test::What;
using test::World;
using Kind = Notice::Kind;

namespace {

// A run of 2s whose every request fails with this error.
Script away(OnUnavailable policy, Errc code = Errc::not_listening) {
  Script script = short_run(2s);
  script.on_unavailable = policy;
  script.status = {ChildStatus::Kind::exited, 3};
  script.troubles = {{.until = k_ever, .kind = Trouble::Kind::error, .code = code}};
  return script;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.ends_with(end);
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("on-unavailable skip: nothing is run, after the patience of every run") {
  World world(away(OnUnavailable::skip));
  CHECK(ends_with(world.run(), ", 5s exit unavailable"));
  CHECK_FALSE(world.child_started());
  CHECK(world.said(Kind::unavailable));
  CHECK(world.outcome()->error.code == Errc::not_listening);
  CHECK_KEPT(world);
}

TEST_CASE("on-unavailable run: the command runs without a lease, and nothing is released") {
  World world(away(OnUnavailable::run));
  CHECK(ends_with(world.run(), ", 5s start, 7s ended, 7s exit unlocked 3"));
  CHECK(world.said(Kind::unlocked));
  CHECK_FALSE(world.said(Kind::granted));
  CHECK(world.asked(What::renew).empty());
  CHECK(world.asked(What::release).empty());
  CHECK(world.outcome()->summary.holds.empty());
  CHECK(world.outcome()->summary.waited == 5s);
  CHECK_KEPT(world);

  // A lease would have ended after 30s.
  Script script = away(OnUnavailable::run);
  script.runs_for = 2h;
  World longer(script);
  CHECK(ends_with(longer.run(3h), ", 5s start, 7205s ended, 7205s exit unlocked 3"));
}

TEST_CASE("on-unavailable fail: an outage is an error") {
  World world(away(OnUnavailable::fail));
  CHECK(ends_with(world.run(), ", 5s exit failed"));
  CHECK_FALSE(world.child_started());
}

TEST_CASE("on-unavailable: an error that is no outage fails") {
  for (const auto policy : {OnUnavailable::skip, OnUnavailable::run}) {
    for (const Errc code : {Errc::bad_usage,
                            Errc::bad_config,
                            Errc::no_such_host,
                            Errc::unconfirmed,
                            Errc::refused,
                            Errc::lost,
                            Errc::denied,
                            Errc::protocol,
                            Errc::system}) {
      CAPTURE(static_cast<int>(code));
      Script script = away(policy, code);
      script.troubles.front().reach = Reach::nothing;
      script.troubles.front().only = What::acquire;  // an undo succeeds
      World world(script);
      CHECK(ends_with(world.run(), "exit failed"));
      CHECK_FALSE(world.child_started());
    }
  }
}

TEST_CASE("on-unavailable: a claim that may have reached a server fails, also if it is undone") {
  for (const auto policy : {OnUnavailable::skip, OnUnavailable::run}) {
    for (const Errc code : {Errc::unavailable, Errc::timed_out}) {
      CAPTURE(static_cast<int>(code));
      World world(away(policy, code));
      CHECK(ends_with(world.run(), ", 5s undo ?, 5s exit failed"));
      CHECK_FALSE(world.child_started());

      Script script = away(policy, code);
      script.troubles.front().only = What::acquire;
      World undone(script);
      CHECK(ends_with(undone.run(), "exit failed"));
      CHECK(undone.asked(What::undo).size() == 1);
      CHECK_FALSE(undone.child_started());
    }
    // Only the first try may have reached a server.
    Script script = away(policy);
    script.troubles.front().from = 1ms;
    script.troubles.front().only = What::acquire;  // the undo succeeds
    script.troubles.front().reach = Reach::nothing;
    script.troubles.push_back(
        {.until = 1ms, .kind = Trouble::Kind::error, .code = Errc::timed_out});
    World first(script);
    CHECK(ends_with(first.run(), "exit failed"));
    CHECK_FALSE(first.child_started());
  }
}

TEST_CASE("on-unavailable: a claim that was not sent in time counts as away") {
  for (const Errc code : {Errc::unavailable, Errc::timed_out}) {
    Script script = away(OnUnavailable::skip, code);
    script.troubles.front().reach = Reach::nothing;
    World world(script);
    CHECK(ends_with(world.run(), "exit unavailable"));
    CHECK(world.asked(What::undo).empty());
  }
}

// A server of another kind or without TLS takes the connection, too.
TEST_CASE("on-unavailable: a server that took the connection is not away, but has no claim") {
  for (const auto policy : {OnUnavailable::skip, OnUnavailable::run}) {
    for (const Errc code : {Errc::unavailable, Errc::timed_out}) {
      Script script = away(policy, code);
      script.troubles.front().reach = Reach::connection;
      World world(script);
      CHECK(ends_with(world.run(), "exit failed"));
      CHECK(world.asked(What::undo).empty());
      CHECK_FALSE(world.child_started());
    }
  }
}

TEST_CASE("on-unavailable: a store that has answered this run is not away later") {
  for (const auto policy : {OnUnavailable::skip, OnUnavailable::run}) {
    Script script = away(policy);
    script.free_from.reset();
    script.troubles.front().from = 1s;
    World world(script);
    CHECK(ends_with(world.run(), "exit failed"));
    CHECK_FALSE(world.child_started());
    CHECK_FALSE(world.said(Kind::unavailable));
  }
}

TEST_CASE("on-unavailable run: a signal during the tries ends the run") {
  Script script = away(OnUnavailable::run);
  script.signals = {{4s, SIGTERM}};
  World world(script);
  CHECK(ends_with(world.run(), "exit by own TERM"));
  CHECK_FALSE(world.child_started());
  CHECK_KEPT(world);
}

TEST_CASE("on-unavailable run: signals, max_hold and no-renew stop the command") {
  Script script = away(OnUnavailable::run);
  script.runs_for.reset();
  script.signals = {{9s, SIGTERM}};
  World signalled(script);
  CHECK(signalled.run().find(", 9s TERM, 9s ended") != std::string::npos);

  script.signals.clear();
  script.max_hold = 10s;
  World limited(script);
  CHECK(limited.run().find(", 15s TERM, 15s ended, 15s exit time_up") != std::string::npos);

  script.max_hold = 0s;
  script.renew = false;
  World lease(script);
  CHECK(ends_with(lease.run(), "exit time_up"));
  CHECK(lease.outcome()->summary.holds.empty());
}

TEST_CASE("on-unavailable run: a renewal that cannot be made stops the command as always") {
  Script script = short_run(5min);
  script.on_unavailable = OnUnavailable::run;
  script.troubles = {
      {.from = 1s, .until = k_ever, .kind = Trouble::Kind::error, .code = Errc::not_listening}};
  World world(script);
  CHECK(ends_with(world.run(), "exit lost"));
  CHECK_FALSE(world.said(Kind::unlocked));
  CHECK_KEPT(world);
}

}  // namespace dlock
