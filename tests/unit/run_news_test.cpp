// SPDX-License-Identifier: MIT
// The news of a hold between two renewals: they save time, and decide nothing.
#include <doctest/doctest.h>

#include "fake/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::Script;
using test::Trouble;
using test::What;
using test::World;

namespace {

// A run of `runs_for` with a lease of 30 s at a store that tells of changes.
Script watched(Duration runs_for) {
  Script script;
  script.runs_for = runs_for;
  script.news = true;
  return script;
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE("news: after a second a hold is watched, looked at, and listened for until its renewal") {
  World world(watched(15s));
  CHECK(world.run() ==
        "0s acquire granted, 0s start, 1s watch_hold, 1s check held, 1s await cancelled, 10s "
        "renew, 10s await cancelled, 15s ended, 15s release, 15s exit 0");
  CHECK_KEPT(world);
}

TEST_CASE("news: a run of less than a second watches nothing") {
  World world(watched(900ms));
  CHECK(world.run() == "0s acquire granted, 0s start, 0.9s ended, 0.9s release, 0.9s exit 0");
  CHECK_KEPT(world);
}

TEST_CASE("news: a change leads to a check, and what that finds counts") {
  Script script = watched(60s);
  script.hand_offs = {{4s}, {6s}};
  script.lost_from = 5s;
  World world(script);
  world.run();
  CHECK(world.asked(What::check) == std::vector<Duration>{1s, 4s, 6s});
  CHECK(world.said().find("6s lost") != std::string::npos);
  CHECK(world.outcome()->kind == Outcome::Kind::lost);
  CHECK_KEPT(world);
}

TEST_CASE("news: a revocation is heeded when it is told of") {
  Script script = watched(60s);
  script.hand_offs = {{5s}};
  script.revoked_from = 5s;
  World world(script);
  world.run();
  CHECK(world.said().find("5s revoked") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("news: what happened before the hold was watched is found by looking then") {
  Script script = watched(60s);
  script.lost_from = 500ms;
  World world(script);
  world.run();
  CHECK(world.said().find("1s lost") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("news: that a hold is well does not move the end of its lease") {
  Script script = watched(60s);
  script.hand_offs = {{8s}};
  script.troubles = {{.from = 9s, .until = 1h, .kind = Trouble::Kind::silent, .only = What::renew}};
  World world(script);
  world.run();
  CHECK(world.asked(What::check).back() == 8s);
  CHECK(world.said().find("19.39s lapsing") != std::string::npos);
  CHECK_KEPT(world);
}

TEST_CASE("news: where there are none nobody listens for them, and it is told once") {
  for (const bool refused : {true, false}) {
    Script script = watched(25s);
    if (refused) script.watch_error = Error{Errc::denied, "no right"};
    if (!refused) script.blind_because = "no tracking";
    World world(script);
    world.run();
    CHECK(world.said() ==
          "0s granted, 1s blind, 10s renewed, 20s renewed, 25s ended, 25s released");
    CHECK(world.asked(What::await_hand_off).empty());
    CHECK(world.asked(What::check).empty());
    CHECK_KEPT(world);
  }
}

TEST_CASE("news: ears that break are replaced after a second") {
  Script script = watched(8s);
  script.troubles = {
      {.from = 0s, .until = 1500ms, .kind = Trouble::Kind::error, .only = What::await_hand_off}};
  World world(script);
  world.run();
  CHECK(world.asked(What::watch_hold) == std::vector<Duration>{1s, 2s});
  CHECK(world.asked(What::await_hand_off) == std::vector<Duration>{1s, 2s});
  CHECK_KEPT(world);
}

TEST_CASE("news: a check without an answer is unknown, and asked again as a renewal") {
  Script script = watched(25s);
  script.hand_offs = {{5s}};
  script.troubles = {{.from = 5s, .until = 6s, .only = What::check}};
  World world(script);
  world.run();
  CHECK(world.said().find("lost") == std::string::npos);
  CHECK(world.asked(What::renew).front() < 9s);
  CHECK(world.outcome()->kind == Outcome::Kind::child);
  CHECK_KEPT(world);
}

}  // namespace dlock
