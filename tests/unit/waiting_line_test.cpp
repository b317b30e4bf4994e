// SPDX-License-Identifier: MIT
// Waiting in line: which waiters send heartbeats, which wait for messages, and how a waiter leaves.
#include "core/acquire_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "support/has.hpp"
#include "support/scripted_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::k_ever;
using test::Message;
using test::Script;
using test::Trouble;
using test::What;
using test::World;
using Kind = Notice::Kind;

namespace {

// Returns the script of a waiter that stays at this place.
Script in_line(std::uint64_t place) {
  Script script;
  script.free_from.reset();
  script.places = {{0s, place}};
  script.runs_for = 0s;
  return script;
}

// Returns the times of its tries in line; the first one joins the line.
std::vector<Duration> beats(const Script& script, Duration until = 60s) {
  World world(script);
  world.run(until);
  CHECK(world.violations() == std::vector<std::string>{});
  std::vector<Duration> times;
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what == What::acquire && ask.queueing != Queueing::no) times.push_back(when);
  }
  return times;
}

// Returns the time of the first try after it has joined the line.
Duration first_beat(const Script& script) {
  const auto times = beats(script, 10s);
  REQUIRE(times.size() > 1);
  return times[1];
}

std::string transcript(const Script& script, Duration until = 1h) {
  World world(script);
  const std::string all = world.run(until);
  CHECK(world.violations() == std::vector<std::string>{});
  return all;
}

std::vector<Message> flood(HandOff what, Duration every) {
  std::vector<Message> messages;
  for (Duration when = every; when < 60s; when += every)
    messages.push_back({when, what});
  return messages;
}

}  // namespace

TEST_CASE("line: the first try takes no place, and only the first two waiters watch the lock") {
  CHECK(transcript(in_line(1), 1s) == "0s acquire busy, 0s watch front, 0s stand busy, 0s await");
  CHECK(transcript(in_line(2), 1s) == "0s acquire busy, 0s watch front, 0s stand busy, 0s await");
  CHECK(transcript(in_line(3), 1s) == "0s acquire busy, 0s watch, 0s stand busy, 0s await");
}

TEST_CASE("line: a waiter sends a heartbeat every 2.5 to 3 s, in any place") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Script script = in_line(1 + seed % 4);
    script.seed = seed;
    const auto times = beats(script);
    REQUIRE(times.size() > 20);
    for (std::size_t i = 1; i < times.size(); ++i) {
      CHECK(times[i] - times[i - 1] >= 2500ms);
      CHECK(times[i] - times[i - 1] <= 3s);
    }
  }
}

TEST_CASE("line: no number of changes keeps a waiter from its heartbeat") {
  for (const HandOff what : {HandOff::changed, HandOff::next, HandOff::turn}) {
    for (const std::uint64_t place : {1U, 2U, 3U}) {
      CAPTURE(place);
      CAPTURE(static_cast<int>(what));
      Script script = in_line(place);
      script.hand_offs = flood(what, 10ms);
      const auto times = beats(script);
      REQUIRE(times.size() > 20);
      for (std::size_t i = 1; i < times.size(); ++i)
        CHECK(times[i] - times[i - 1] <= 3s);
      // Waiters that are not first do not try after every change.
      if (place > 1 && what != HandOff::turn) CHECK(times.size() < 30);
    }
  }
}

TEST_CASE("line: the first waiter retries after every change, the second a second later") {
  Script script = in_line(1);
  script.hand_offs = {{1s, HandOff::changed}};
  CHECK(first_beat(script) == 1s);
  script.hand_offs = {{1s, HandOff::next}};
  CHECK(first_beat(script) == 1s);
  script.places = {{0s, 2}};
  CHECK(first_beat(script) == 2020ms);
  script.hand_offs = {{1s, HandOff::changed}};
  CHECK(first_beat(script) == 2020ms);
}

TEST_CASE(
    "line: the first waiter does not retry for each change of a lock that changes all the time") {
  Script script = in_line(1);
  script.hand_offs = flood(HandOff::changed, 1ms);
  const auto times = beats(script);
  REQUIRE(times.size() > 50);
  for (std::size_t i = 2; i < times.size(); ++i)
    CHECK(times[i] - times[i - 2] >= 20ms);
}

TEST_CASE("line: a turn is answered with a try at once, in any place") {
  for (const std::uint64_t place : {1U, 2U, 3U, 50U}) {
    Script script = in_line(place);
    script.hand_offs = {{1s, HandOff::turn}};
    CHECK(first_beat(script) == 1s);
  }
}

TEST_CASE("line: the next waiter tries a second later without another message, and gets the lock") {
  Script script = in_line(3);
  script.free_from = 2s;
  script.hand_offs = {{1500ms, HandOff::next}};
  // It believes to be third, but a waiter before it has left.
  CHECK(transcript(script) ==
        "0s acquire busy, 0s watch, 0s stand busy, 0s await next, 1.5s await, 2.52s stand granted, "
        "2.52s start, 2.52s ended, 2.52s release, 2.52s exit 0");
}

TEST_CASE("line: a repeated \"next\" does not make the second waiter wait longer") {
  Script script = in_line(3);
  script.free_from = 2s;
  script.hand_offs = {{1500ms, HandOff::next}, {1900ms, HandOff::next}, {2400ms, HandOff::changed}};
  CHECK(has(transcript(script), "2.52s stand granted"));
}

TEST_CASE("line: a turn that comes early is taken all the same") {
  Script script = in_line(2);
  script.free_from = 1700ms;
  script.hand_offs = {{1500ms, HandOff::next}, {1700ms, HandOff::turn}};
  CHECK(has(transcript(script), "1.5s await turn, 1.7s stand granted"));
}

TEST_CASE(
    "line: at the end of the lease the first waiter tries, the second a second later, others not") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Script script = in_line(1);
    script.seed = seed;
    script.lease_ends = 1s;
    CHECK(first_beat(script) > 1s);
    CHECK(first_beat(script) <= 1020ms);
    script.places = {{0s, 2}};
    CHECK(first_beat(script) > 2s);
    CHECK(first_beat(script) <= 2020ms);
    script.places = {{0s, 3}};
    CHECK(first_beat(script) >= 2500ms);
  }
}

TEST_CASE("line: the second waiter finds the lock free, and tries when the first's turn is over") {
  Script script = in_line(2);
  script.refusal = {.holding = {.kind = Holding::Kind::none, .type = "none"}, .turn_left = 700ms};
  CHECK(first_beat(script) > 700ms);  // what is left of the turn
  CHECK(first_beat(script) <= 720ms);
  script.places = {{0s, 4}};  // more than one may be frozen
  CHECK(first_beat(script) <= 720ms);
  script.places = {{0s, 5}};  // but not all come
  CHECK(first_beat(script) >= 2500ms);
}

TEST_CASE("line: while the lock has room its turn counts, and not the leases of its holders") {
  Script script = in_line(3);
  script.refusal.turn_left = 700ms;
  script.refusal.holding.lease_left = 100ms;
  CHECK(first_beat(script) > 700ms);
  CHECK(first_beat(script) <= 720ms);
  script.refusal.turn_left.reset();  // there is none: the third comes when it is told
  CHECK(first_beat(script) >= 2500ms);
}

TEST_CASE("line: a waiter that becomes one of the first two watches the lock from then on") {
  Script script = in_line(3);
  script.places = {{0s, 3}, {1s, 2}, {4s, 1}};
  World world(script);
  world.run(20s);
  std::vector<bool> front;
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what == What::watch) front.push_back(ask.front);
  }
  CHECK(front == std::vector<bool>{false, true});
  const std::string all = world.run(20s);
  const auto second = all.find("watch front");
  CHECK(all.substr(second - 20, 60).find("stand busy") != std::string::npos);
  CHECK(all.substr(second + 11, 20).find("stand busy") != std::string::npos);
}

TEST_CASE("line: a claim is busy at once if the line has as many waiters as it allows") {
  Script script = in_line(4);
  script.max_waiters = 3;
  CHECK(transcript(script) == "0s acquire busy, 0s exit busy");
  script.max_waiters = 0;
  CHECK(transcript(script) == "0s acquire busy, 0s exit busy");
  script.max_waiters = 4;
  CHECK(has(transcript(script, 1s), "0s stand busy, 0s await"));
  // A waiter keeps its place, however many came later.
  script.waiting_behind = 10;
  script.places = {{0s, 4}};
  script.max_waiters = 14;
  CHECK(has(transcript(script, 20s), "0s stand busy, 0s await"));
}

TEST_CASE("line: others may fill the line between the first try and the try that takes a place") {
  const Time now(1000s);
  AcquireLoop loop({.wait = {}, .connect_timeout = 5s, .max_waiters = 2}, 1, now);
  loop.start(now);
  const Refusal one{.holding = {.kind = Holding::Kind::lock, .type = "hash", .waiting = 1}};
  CHECK(std::holds_alternative<step::Watch>(loop.on_acquire(AcquireReply(one), now)));
  CHECK(std::get<step::Try>(loop.on_watch(Watching{}, now)).queueing == Queueing::listening);
  Refusal two = one;
  two.holding.waiting = 2;
  CHECK(std::holds_alternative<step::Busy>(loop.on_acquire(AcquireReply(two), now)));
  // The store did not let it in, but nobody else can know.
  CHECK(loop.stands());
  two.place = 2;
  CHECK(std::holds_alternative<step::Watch>(
      AcquireLoop({.wait = {}, .connect_timeout = 5s, .max_waiters = 2}, 1, now)
          .on_acquire(AcquireReply(two), now)));
}

TEST_CASE("line: a granted waiter has no place to leave") {
  Script script = in_line(1);
  script.free_from = 1s;
  script.hand_offs = {{1s, HandOff::turn}};
  World world(script);
  world.run();
  CHECK(world.asked(What::leave).empty());
  CHECK(world.violations() == std::vector<std::string>{});
}

TEST_CASE("line: a waiter that gives up leaves the line once, and ends as without a line") {
  Script script = in_line(2);
  script.wait = 2s;
  CHECK(has(transcript(script), "0s await, 2s leave not_held, 2s exit busy"));
  script.wait.reset();
  script.signals = {{2s, SIGINT}};
  CHECK(has(transcript(script), "0s await cancelled, 2s <INT>, 2s leave not_held, 2s exit by own"));
}

TEST_CASE("line: a waiter that cannot leave the line ends all the same, and soon") {
  for (const bool by_signal : {true, false}) {
    CAPTURE(by_signal);
    Script script = in_line(2);
    if (by_signal) {
      script.signals = {{2s, SIGTERM}};
    } else {
      script.wait = 2s;
    }
    const std::string end = by_signal ? "exit by own TERM" : "exit busy";
    script.troubles = {{.from = 2s, .until = k_ever, .kind = Trouble::Kind::error}};
    script.troubles.front().only = What::leave;
    CHECK(has(transcript(script), ", 2s leave ?, 2s " + end));
    script.troubles.front().kind = Trouble::Kind::silent;
    CHECK(has(transcript(script), ", 2s leave ?, 2.15s " + end));
    script.troubles.front().kind = Trouble::Kind::hung;
    CHECK(has(transcript(script), ", 2s leave, 5.15s " + end));
  }
}

TEST_CASE("line: an unanswered try that took a place is undone, which also leaves the line") {
  Script script = in_line(1);
  script.signals = {{4s, SIGTERM}};
  script.troubles = {{.from = 1s, .until = 5s, .kind = Trouble::Kind::silent}};
  script.troubles.front().only = What::acquire;
  World world(script);
  CHECK(has(world.run(), "4s <TERM>, 4s undo not_held, 4s exit by own TERM"));
  CHECK(world.asked(What::leave).empty());
  CHECK(world.violations() == std::vector<std::string>{});
}

TEST_CASE(
    "line: a second signal, as timeout(1) sends it, does not keep dlock from leaving the line") {
  Script script = in_line(1);
  script.signals = {{2s, SIGTERM}, {2s, SIGTERM}};
  CHECK(has(transcript(script), "2s <TERM>, 2s <TERM>, 2s leave not_held, 2s exit by own TERM"));
  script.signals = {{2s, SIGTERM}, {2100ms, SIGTERM}};
  script.troubles = {{.from = 2s, .until = k_ever, .kind = Trouble::Kind::silent}};
  CHECK(has(transcript(script), "2s leave ?, 2.1s <TERM>, 2.15s exit by own TERM"));
}

TEST_CASE(
    "line: a waiter without a subscription is in line too, and tries several times a second") {
  Script script = in_line(3);
  script.watch_error = Error{Errc::denied, "no channel for you"};
  CHECK(transcript(script, 0s) == "0s acquire busy, 0s watch ?, 0s stand polling busy");
  const auto times = beats(script);
  for (std::size_t i = 1; i < times.size(); ++i) {
    CHECK(times[i] - times[i - 1] >= 50ms);
    CHECK(times[i] - times[i - 1] <= 500ms);
  }
  script.wait = 1s;
  CHECK(has(transcript(script), "1s leave not_held, 1s exit busy"));
}

TEST_CASE("line: missing key tracking is reported once, by the waiters that would use it") {
  Script script = in_line(3);
  script.untracked_because = "no tracking for you";
  World far(script);
  far.run(30s);
  CHECK_FALSE(far.said(Kind::untracked));
  script.places = {{0s, 3}, {1s, 2}};
  script.troubles = {{.from = 10s, .until = 20s, .kind = Trouble::Kind::error}};
  script.troubles.front().only = What::await_hand_off;
  World near(script);
  near.run(30s);
  CHECK(near.asked(What::watch).size() > 3);
  CHECK(std::count_if(near.notices().begin(), near.notices().end(), [](const Notice& one) {
          return one.kind == Kind::untracked && one.text == "no tracking for you";
        }) == 1);
}

TEST_CASE("line: the place is kept through an outage") {
  Script script = in_line(2);
  script.troubles = {{.from = 5s, .until = 15s, .kind = Trouble::Kind::error}};
  World world(script);
  world.run(30s);
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what == What::acquire && when > 0s) CHECK(ask.queueing == Queueing::listening);
  }
}

TEST_CASE(
    "line: a watch that fails repeatedly while tries succeed does not make tries more frequent") {
  // Such as a server that lets nobody else in: the connection for messages is one more.
  Script script = in_line(1);
  script.troubles = {{.from = 0s, .until = k_ever, .kind = Trouble::Kind::error}};
  script.troubles.front().only = What::watch;
  script.latency = 1ms;
  World world(script);
  world.run(60s);
  CHECK(world.asked(What::acquire).size() > 30);
  CHECK(world.asked(What::acquire).size() < 130);
}

}  // namespace dlock
