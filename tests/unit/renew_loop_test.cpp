// SPDX-License-Identifier: MIT
// `dlock renew --every` and `--while`, after the first renewal. The ttl is 30 s, counted from the
// newest confirmed request: the lease is safe until 29.69 s, and one renewal may take at most 3 s.
#include "core/renew_loop.hpp"

#include <doctest/doctest.h>

#include "support/has.hpp"
#include "support/machine_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::k_ever;
using test::PlayedStoreTerms;
using test::Trouble;
using test::What;
using RenewWorld = test::MachineWorld<RenewLoop>;

namespace {

// What the store answers about a hold from a time on.
struct Verdict {
  Duration from = k_ever;
  RenewVerdict verdict = RenewVerdict::renewed;
  bool released = false;
};

struct Keeper {
  std::vector<Verdict> verdicts{{}};  // one for each hold
  Duration every = 5s;
  std::vector<Trouble> troubles = {};
  std::vector<Duration> changes = {};  // of the lock, when it is watched
};

RenewWorld world_of(const Keeper& how) {
  const RenewTerms terms{.lease = *LeaseTerms::check(30s, 0s), .every = how.every};
  const std::vector<Time> sent_at(how.verdicts.size(), RenewWorld::k_start);
  PlayedStoreTerms store{.latency = {}, .troubles = how.troubles, .hand_offs = {}, .refused = {}};
  if (how.changes.empty()) store.refused = What::watch_hold;
  for (const Duration when : how.changes)
    store.hand_offs.push_back({when});
  RenewWorld world(RenewLoop(terms, sent_at), store);
  world.store.carry_out = [how](const action::Ask& ask, Time now) -> StoreAnswer {
    if (ask.what == What::watch_hold) return event::Watched{Watching{}};
    const Verdict& said = how.verdicts.at(ask.which);
    RenewReply reply{
        .verdict = ask.what == What::check ? RenewVerdict::held : RenewVerdict::renewed,
        .sent_at = now};
    if (now - RenewWorld::k_start < said.from) return event::Renewed{reply};
    reply.verdict = said.verdict;
    reply.revoked_by = "ann@host";
    reply.released = said.released;
    return event::Renewed{reply};
  };
  return world;
}

// Checks that no renewal was sent after `end`.
void check_silent_after(const RenewWorld& world, Duration end) {
  for (const auto& [ask, when] : world.asks())
    CHECK(when <= end);
}

}  // namespace

TEST_CASE("a keeper renews each hold by itself at its interval, until its process ends") {
  auto world = world_of({.verdicts = {{}, {}}});
  CHECK(world.run(11s) ==
        "1s watch_hold ?, 1s watch_hold ?, 5s renew, 5s renew, 10s renew, 10s renew");
  CHECK(world.asks()[2].first.which == 0);
  CHECK(world.asks()[3].first.which == 1);
  world.feed(event::ProcessEnded{});
  REQUIRE(world.outcome());
  CHECK_FALSE(world.outcome()->lost);
}

TEST_CASE("a keeper ends with the first verdict against a hold, and renews nothing after it") {
  for (const auto verdict : {RenewVerdict::lost, RenewVerdict::revoked}) {
    auto world = world_of({.verdicts = {{}, {.from = 8s, .verdict = verdict}}});
    world.run();
    REQUIRE(world.outcome());
    CHECK(world.outcome()->lost);
    CHECK(world.now() == 10s);
    check_silent_after(world, 10s);
    const bool revoked = verdict == RenewVerdict::revoked;
    CHECK(has(world.said(), revoked ? "10s revoked" : "10s lost"));
    CHECK(world.notices().back().which == 1);
    CHECK(world.notices().back().text == (revoked ? "ann@host" : ""));
  }
}

TEST_CASE("a keeper continues with its other holds when one was released, and ends with the last") {
  const Verdict first{.from = 8s, .verdict = RenewVerdict::lost, .released = true};
  const Verdict last{.from = 18s, .verdict = RenewVerdict::lost, .released = true};
  auto world = world_of({.verdicts = {first, last}});
  CHECK(world.run() ==
        "1s watch_hold ?, 1s watch_hold ?, 5s renew, 5s renew, 10s renew lost, 10s renew, 15s "
        "renew, 20s renew lost, 20s end");
  CHECK_FALSE(world.outcome()->lost);
  CHECK_FALSE(has(world.said(), "lost"));
}

TEST_CASE("a keeper continues after errors of any kind: they are no verdict") {
  for (const Errc code : {Errc::unavailable, Errc::timed_out, Errc::denied, Errc::refused}) {
    auto world = world_of(
        {.troubles = {{.from = 5s, .until = 6s, .kind = Trouble::Kind::error, .code = code}}});
    CHECK(
        world.run(12s) ==
        "1s watch_hold ?, 5s renew ?, 5.1s renew ?, 5.3s renew ?, 5.7s renew ?, 6.5s renew, 11.5s "
        "renew");
    CHECK_FALSE(world.outcome());
    CHECK(has(world.said(), "5s unreachable"));
  }
}

TEST_CASE("a keeper ends as lost at the end of the lease by its own clock, and renews no more") {
  for (const auto kind : {Trouble::Kind::silent,
                          Trouble::Kind::answers_lost,
                          Trouble::Kind::error,
                          Trouble::Kind::hung}) {
    CAPTURE(static_cast<int>(kind));
    auto world = world_of({.troubles = {{.from = 6s, .until = k_ever, .kind = kind}}});
    world.run();
    REQUIRE(world.outcome());
    CHECK(world.outcome()->lost);
    CHECK(world.now() == 5s + 29690ms);
    check_silent_after(world, 5s + 29690ms);
    for (const auto& [ask, when] : world.asks())
      CHECK(ask.limit <= RenewWorld::k_start + 5s + 29690ms);
    CHECK(world.notices().back().kind == Notice::Kind::lapsing);
  }
}

TEST_CASE("a keeper that was stopped for longer than its lease does not renew an ended lease") {
  RenewLoop loop({.lease = *LeaseTerms::check(30s, 0s), .every = 5s}, {RenewWorld::k_start});
  CHECK(loop.start(RenewWorld::k_start).empty());
  const auto actions = loop.on(event::Tick{}, RenewWorld::k_start + 40s);
  REQUIRE(actions.size() == 2);
  CHECK(std::holds_alternative<action::Say>(actions[0]));
  CHECK(std::holds_alternative<action::EndRenewals>(actions[1]));
}

TEST_CASE("a renewal that is confirmed after the end of the lease comes too late") {
  RenewLoop loop({.lease = *LeaseTerms::check(30s, 0s), .every = 5s}, {RenewWorld::k_start});
  CHECK(loop.start(RenewWorld::k_start).empty());
  CHECK(loop.on(event::Tick{}, RenewWorld::k_start + 5s).size() == 1);
  const RenewReply reply{.sent_at = RenewWorld::k_start + 5s};
  const auto actions = loop.on(event::Renewed{reply}, RenewWorld::k_start + 30s);
  REQUIRE_FALSE(actions.empty());
  CHECK(std::holds_alternative<action::EndRenewals>(actions.back()));
}

TEST_CASE("a keeper whose hold is released ends at once: it is told") {
  const Verdict released{.from = 7s, .verdict = RenewVerdict::lost, .released = true};
  auto world = world_of({.verdicts = {released}, .every = 9s, .changes = {7s}});
  world.run();
  REQUIRE(world.outcome());
  CHECK_FALSE(world.outcome()->lost);
  CHECK(world.now() == 7s);
}

TEST_CASE("a keeper of several holds looks at each when it is told of a change") {
  const Verdict first{.from = 7s, .verdict = RenewVerdict::lost, .released = true};
  const Verdict last{.from = 8s, .verdict = RenewVerdict::lost, .released = true};
  auto world = world_of({.verdicts = {first, last}, .every = 9s, .changes = {7s, 8s}});
  world.run();
  REQUIRE(world.outcome());
  CHECK_FALSE(world.outcome()->lost);
  CHECK(world.now() == 8s);
}

TEST_CASE("a keeper renews in time though its lock changes all the time") {
  Keeper how{.verdicts = {{}, {}}};
  for (int i = 10; i < 1000; ++i)
    how.changes.push_back(i * 100ms);
  auto world = world_of(how);
  world.run(90s);
  CHECK_FALSE(world.outcome());
  Duration renewed{};
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what != What::renew || ask.which != 1) continue;
    CHECK(when - renewed <= 6s);
    renewed = when;
  }
  CHECK(renewed >= 85s);
}

}  // namespace dlock
