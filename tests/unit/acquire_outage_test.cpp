// SPDX-License-Identifier: MIT
// A store that cannot be reached or does not answer, at the start and while waiting: when the
// outage is waited for, when the run fails at once, and what the user reads.
#include "core/acquire_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/scripted_world.hpp"
#include "support/waiting.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::gaps;
using test::k_ever;
using test::last_try;
using test::Script;
using test::Trouble;
using test::waiting;
using test::What;
using test::World;
using Kind = Notice::Kind;

namespace {

// Returns the notices about the wait.
std::vector<Notice> waits_told(const World& world) {
  std::vector<Notice> told = world.notices();
  std::erase_if(told, [](const Notice& one) {
    return one.kind != Kind::waiting && one.kind != Kind::store_away;
  });
  return told;
}

}  // namespace

#define CHECK_KEPT(world) CHECK((world).violations() == std::vector<std::string>{})

TEST_CASE(
    "a store out of reach at start fails after the connect timeout, and no command is started") {
  Script script = waiting(0s);
  script.troubles = {{.from = 0s, .until = k_ever, .kind = Trouble::Kind::error}};
  World world(script);
  const std::string all = world.run();
  CHECK(all.find(", 5s undo ?, 5s exit failed") != std::string::npos);
  CHECK_FALSE(world.child_started());
  CHECK(world.outcome()->error.code == Errc::unavailable);
  CHECK_KEPT(world);

  script.troubles.front().kind = Trouble::Kind::silent;
  World silent(script);
  CHECK(silent.run() == "0s acquire ?, 5s undo ?, 5.15s exit failed");
}

TEST_CASE("a store that fails slowly at the start is given up when the connect timeout is over") {
  // After a failure just before the end comes one more try, but no second full wait.
  for (const std::optional<Duration> wait : {std::optional<Duration>(), {0s}, {5s}}) {
    Script script = waiting(0s);
    script.wait = wait;
    script.troubles = {{.from = 0s, .until = 4s, .kind = Trouble::Kind::error},
                       {.from = 4s, .until = k_ever, .kind = Trouble::Kind::silent}};
    World world(script);
    CHECK(world.run().find(", 5s undo ?, 5.15s exit failed") != std::string::npos);
    CHECK(last_try(world) >= 4s);
  }
  Script script = waiting(0s);
  script.troubles = {{.from = 0s, .until = 4950ms, .kind = Trouble::Kind::error},
                     {.from = 4950ms, .until = k_ever, .kind = Trouble::Kind::silent}};
  World world(script);
  world.run();
  CHECK(world.asked(What::undo).front() <= 5050ms);
}

TEST_CASE("a store that comes up within the connect timeout is used") {
  Script script = waiting(0s);
  script.troubles = {{.from = 0s, .until = 3s, .kind = Trouble::Kind::error}};
  World world(script);
  world.run();
  CHECK(world.child_started());
  CHECK(last_try(world) >= 3s);
  CHECK(last_try(world) <= 4s);
}

TEST_CASE("tries of a store out of reach come with growing pauses of at most a second") {
  Script script = waiting(0s);
  script.connect_timeout = 30s;
  script.troubles = {{.from = 0s, .until = 25s, .kind = Trouble::Kind::error}};
  World world(script);
  world.run();
  const auto pauses = gaps(world.asked(What::acquire));
  REQUIRE(pauses.size() > 10);
  CHECK(pauses.front() >= 25ms);
  CHECK(pauses.front() <= 50ms);
  for (const Duration pause : pauses)
    CHECK(pause <= 1s);
  CHECK(pauses.back() >= 500ms);
}

TEST_CASE("an error that a retry cannot help fails at once") {
  for (const Errc code : {Errc::denied,
                          Errc::lost,
                          Errc::bad_usage,
                          Errc::bad_config,
                          Errc::system,
                          Errc::refused,
                          Errc::protocol}) {
    CAPTURE(static_cast<int>(code));
    Script script = waiting(0s);
    script.troubles = {{.from = 0s,
                        .until = k_ever,
                        .kind = Trouble::Kind::error,
                        .code = code,
                        .only = What::acquire}};
    World world(script);
    CHECK(world.run() == "0s acquire ?, 0s undo not_held, 0s exit failed");
    CHECK(world.outcome()->error.code == code);
  }
}

TEST_CASE("a host that does not exist fails at once, and there is nothing to undo") {
  for (const std::optional<Duration> wait : {std::optional<Duration>(), {0s}, {10s}}) {
    Script script = waiting(0s);
    script.wait = wait;
    script.troubles = {
        {.from = 0s, .until = k_ever, .kind = Trouble::Kind::error, .code = Errc::no_such_host}};
    World world(script);
    CHECK(world.run() == "0s acquire ?, 0s exit failed");
  }
}

TEST_CASE("without a listener -n fails at once; others try until the connect timeout") {
  Script script = waiting(0s);
  script.troubles = {
      {.from = 0s, .until = k_ever, .kind = Trouble::Kind::error, .code = Errc::not_listening}};
  World patient(script);
  patient.run();
  CHECK(last_try(patient) >= 4s);
  CHECK(patient.asked(What::undo).empty());
  CHECK_KEPT(patient);

  script.wait = 0s;
  World once(script);
  CHECK(once.run() == "0s acquire ?, 0s exit failed");

  script.troubles.front().kind = Trouble::Kind::silent;
  World silent(script);
  CHECK(silent.run() == "0s acquire ?, 5s undo ?, 5.15s exit failed");
}

TEST_CASE("F04: a grant that too few replicas have is undone: with -n at once, else in the end") {
  Script script = waiting(0s);
  script.troubles = {{.from = 0s,
                      .until = k_ever,
                      .kind = Trouble::Kind::error,
                      .code = Errc::unconfirmed,
                      .only = What::acquire}};
  World patient(script);
  patient.run();
  CHECK(last_try(patient) >= 4s);
  CHECK(patient.asked(What::undo).size() == 1);
  CHECK_FALSE(patient.child_started());
  CHECK_KEPT(patient);

  script.wait = 0s;
  World once(script);
  CHECK(once.run() == "0s acquire ?, 0s undo not_held, 0s exit failed");
  CHECK(once.outcome()->error.code == Errc::unconfirmed);
}

TEST_CASE("F04: a grant that the replicas have at a later try starts the command") {
  Script script = waiting(0s);
  script.troubles = {{.from = 0s,
                      .until = 2s,
                      .kind = Trouble::Kind::error,
                      .code = Errc::unconfirmed,
                      .only = What::acquire}};
  World world(script);
  world.run();
  CHECK(world.child_started());
  CHECK(world.asked(What::undo).empty());
  CHECK_KEPT(world);
}

TEST_CASE("an earlier try that may have arrived is undone, though the last one was not sent") {
  Script script = waiting(0s);
  script.connect_timeout = 2s;
  script.troubles = {
      {.from = 0s, .until = 1ms, .kind = Trouble::Kind::error, .code = Errc::unavailable},
      {.from = 1ms, .until = k_ever, .kind = Trouble::Kind::error, .code = Errc::not_listening}};
  World world(script);
  world.run();
  CHECK(world.asked(What::undo).size() == 1);
}

TEST_CASE("an outage during the wait is survived") {
  for (const Errc code : {Errc::unavailable,
                          Errc::no_such_host,
                          Errc::not_listening,
                          Errc::timed_out,
                          Errc::refused,
                          Errc::protocol}) {
    CAPTURE(static_cast<int>(code));
    Script script = waiting(40s);
    script.troubles = {{.from = 1s, .until = 20s, .kind = Trouble::Kind::error, .code = code}};
    World world(script);
    world.run();
    CHECK(world.child_started());
    CHECK(world.said(Kind::unreachable));
    CHECK_KEPT(world);
  }
}

TEST_CASE("an outage during the wait is survived up to the limit, then the claim fails") {
  Script script = waiting(k_ever);
  script.troubles = {{.from = 20s, .until = k_ever, .kind = Trouble::Kind::error}};
  World world(script);
  world.run();
  REQUIRE(world.outcome());
  CHECK(world.outcome()->kind == Outcome::Kind::failed);
  // Noticed up to 5 s late; the exact beginning is the next test.
  CHECK(last_try(world) >= 44s);
  CHECK(last_try(world) <= 56s);
}

TEST_CASE("an outage counts from when it is noticed, not from the last busy answer") {
  // The waiter sleeps 3 to 5 s between two tries; an outage of 100 ms must not use up a limit of 5.
  Script script = waiting(60s);
  script.outage_limit = 5s;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    script.seed = seed;
    World calm(script);
    calm.run(20s);
    const auto tries = calm.asked(What::acquire);
    REQUIRE(tries.size() > 3);
    script.troubles = {{.from = tries[2], .until = tries[2] + 2s, .kind = Trouble::Kind::error}};
    World world(script);
    world.run();
    CHECK(world.child_started());
    script.troubles.clear();
    if (!world.child_started()) break;  // one is enough to see
  }
}

TEST_CASE("-w counts during an outage; the end is the error of the store, not 'busy'") {
  Script script = waiting(0s);
  script.wait = 2s;
  script.connect_timeout = 10s;
  script.troubles = {{.from = 0s, .until = k_ever, .kind = Trouble::Kind::error}};
  World world(script);
  CHECK(world.run().find(", 2s undo ?, 2s exit failed") != std::string::npos);
}

TEST_CASE("a retry takes a grant whose answer was lost") {
  Script script = waiting(0s);
  script.connect_timeout = 10s;
  script.troubles = {
      {.from = 0s, .until = 1ms, .kind = Trouble::Kind::error, .code = Errc::timed_out}};
  World world(script);
  world.run();
  CHECK(world.child_started());
  CHECK(world.asked(What::undo).empty());
  CHECK_FALSE(world.held());
}

TEST_CASE("a try whose answer was lost is undone when there is no time for another") {
  Script script = waiting(0s);
  script.connect_timeout = 2s;
  script.troubles = {{.from = 0s, .until = 1s, .kind = Trouble::Kind::answers_lost}};
  World world(script);
  CHECK(world.run() == "0s acquire ?, 2s undo, 2s exit failed");
  CHECK_FALSE(world.held());
  CHECK_KEPT(world);
}

TEST_CASE("a try whose answer was lost is undone though the lock was busy later") {
  Script script = waiting(std::nullopt);
  script.wait = 3s;
  script.troubles = {{.from = 0s, .until = 1ms, .kind = Trouble::Kind::error}};
  World world(script);
  world.run();
  CHECK(world.outcome()->kind == Outcome::Kind::busy);
  CHECK(world.asked(What::undo).size() == 1);
}

TEST_CASE("an outage is reported once after a second, and the holder when the store is back") {
  Script script = waiting(40s);
  script.troubles = {
      {.from = 5s, .until = 20s, .kind = Trouble::Kind::error, .code = Errc::not_listening}};
  World world(script);
  world.run();
  const auto told = waits_told(world);
  const auto away = std::find_if(
      told.begin(), told.end(), [](const Notice& one) { return one.kind == Kind::store_away; });
  REQUIRE(away != told.end());
  CHECK(away->seen_ago == 1s);
  CHECK(away->left == 29s);
  CHECK_FALSE(away->text.empty());
  CHECK(away->holding);
  const auto back = away + 1;
  REQUIRE(back != told.end());
  CHECK(back->kind == Kind::waiting);
  CHECK(back->span >= 20s);
  CHECK(back->span <= 21s);
  CHECK(std::none_of(
      back, told.end(), [](const Notice& one) { return one.kind == Kind::store_away; }));
}

TEST_CASE("an outage is reported every second where the line of the wait changes") {
  Script script = waiting(40s);
  script.notice_every = 1s;
  script.troubles = {
      {.from = 5s, .until = 20s, .kind = Trouble::Kind::error, .code = Errc::not_listening}};
  World world(script);
  world.run();
  const auto told = waits_told(world);
  CHECK(std::count_if(told.begin(), told.end(), [](const Notice& one) {
          return one.kind == Kind::store_away;
        }) >= 10);
  for (std::size_t i = 1; i < told.size(); ++i) {
    if (told[i].kind == Kind::store_away) CHECK(told[i].span - told[i - 1].span <= 1s);
  }
}

TEST_CASE(
    "a store that is down or silent from the start is reported if it is tried for long enough") {
  for (const bool silent : {true, false}) {
    CAPTURE(silent);
    Script script = waiting(0s);
    script.troubles = {{.from = 0s,
                        .until = k_ever,
                        .kind = silent ? Trouble::Kind::silent : Trouble::Kind::error,
                        .code = Errc::not_listening}};
    World world(script);
    world.run();
    const auto told = waits_told(world);
    REQUIRE(told.size() == 1);
    CHECK(told.front().kind == Kind::store_away);
    CHECK(told.front().seen_ago == 1s);
    CHECK(told.front().left == 4s);
    CHECK(told.front().text.empty() == silent);
    CHECK_FALSE(told.front().holding);

    script.connect_timeout = 1s;
    World brief(script);
    brief.run();
    CHECK(waits_told(brief).empty());
  }
}

}  // namespace dlock
