// SPDX-License-Identifier: MIT
// `dlock wait`, and the wait of `dlock force-release`: both look at a lock until it is free.
#include "core/watch_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/has.hpp"
#include "support/machine_world.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;
using test::k_ever;
using test::Message;
using test::PlayedStoreTerms;
using test::Trouble;
using test::What;
using Kind = Notice::Kind;
using End = WatchOutcome::Kind;
using WatchWorld = test::MachineWorld<WatchLoop>;

namespace {

Holding held_by(std::vector<std::string> owners, LeaseLeft lease_left = {}) {
  Holding holding{.kind = Holding::Kind::lock, .type = "hash"};
  for (std::string& id : owners)
    holding.owners.push_back({.id = std::move(id), .count = "1", .lease_left = lease_left});
  holding.owner_count = owners.size();
  holding.lease_left = lease_left;
  return holding;
}

Holding free_with(std::uint64_t waiting) {
  return {.waiting = waiting};
}

// The states of a lock over time, and the results of a watch.
struct Lock {
  std::vector<std::pair<Duration, Holding>> states{{0s, held_by({"a:1"})}};
  std::optional<Error> watch_error = {};
  PlayedStoreTerms store = {};
};

// Returns what inspect sees: the remaining leases shrink with time.
Holding seen_at(const Lock& lock, Duration since) {
  Holding now;
  for (const auto& [from, holding] : lock.states) {
    if (since < from) break;
    now = holding;
    const auto left = [&](LeaseLeft& lease) {
      if (const auto span = lease.within()) lease = std::max<Duration>(*span - (since - from), 0s);
    };
    left(now.lease_left);
    for (Holding::Owner& owner : now.owners)
      left(owner.lease_left);
  }
  return now;
}

WatchTerms patient() {
  return {.wait = {.wait = {}, .connect_timeout = 5s, .outage_limit = 30s}};
}

WatchWorld world_of(const WatchTerms& terms, const Lock& lock, std::uint64_t seed = 1) {
  WatchWorld world(WatchLoop(terms, seed, WatchWorld::k_start), lock.store);
  world.store.carry_out = [lock](const action::Ask& ask, Time now) -> StoreAnswer {
    if (ask.what == What::inspect)
      return event::Inspected{seen_at(lock, now - WatchWorld::k_start)};
    if (lock.watch_error) return event::Watched{*lock.watch_error};
    return event::Watched{Watching{}};
  };
  return world;
}

Lock held_until(Duration when) {
  Lock lock;
  lock.states.emplace_back(when, Holding{});
  return lock;
}

// Returns the pauses between the looks.
std::vector<Duration> pauses(const WatchWorld& world) {
  std::vector<Duration> all;
  std::optional<Duration> last;
  for (const auto& [ask, when] : world.asks()) {
    if (ask.what != What::inspect) continue;
    if (last) all.push_back(when - *last);
    last = when;
  }
  return all;
}

// Returns the terms of a wait after a revocation: the lock was held like `before`.
WatchTerms revoked_as(const Holding& before, const RevokeOrder& order = {}) {
  return revoked_terms(revoked_holders(before, order), 5s);
}

}  // namespace

TEST_CASE("wait: a free lock is checked once, and nothing else is asked") {
  Lock lock;
  lock.states = {{0s, Holding{}}};
  auto world = world_of(patient(), lock);
  CHECK(world.run() == "0s inspect free, 0s end");
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.said() == "0s free");
}

TEST_CASE("wait: a held lock is watched, checked again, and waited for until a change") {
  Lock lock = held_until(3s);
  lock.store.hand_offs = {{3s}};
  auto world = world_of(patient(), lock);
  CHECK(world.run().starts_with("0s inspect held, 0s watch front, 0s inspect held, 0s await"));
  CHECK(world.run().ends_with(" await changed, 3s inspect free, 3s end"));
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited == 3s);
  CHECK(world.said() == "1s waiting, 3s waiting, 3s free");
}

TEST_CASE("wait: a bystander never claims the lock and takes no place in line") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Lock lock = held_until(40s);
    lock.store.troubles = {{.from = 5s, .until = 8s, .kind = Trouble::Kind::error},
                           {.from = 20s, .until = 22s}};
    auto world = world_of(patient(), lock, seed);
    world.run();
    REQUIRE(world.outcome());
    CHECK(world.outcome()->kind == End::free);
    for (const auto& [ask, when] : world.asks()) {
      CHECK((ask.what == What::inspect || ask.what == What::watch ||
             ask.what == What::await_hand_off));
      CHECK(ask.queueing == Queueing::no);
      if (ask.what == What::watch) CHECK(ask.front);
    }
  }
}

TEST_CASE("wait: a free lock with a waiter in its line is not free") {
  Lock lock;
  lock.states = {{0s, free_with(1)}, {7s, Holding{}}};
  auto world = world_of(patient(), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited >= 7s);
  // No message reports the death of a waiter, so it looks again each second.
  CHECK(world.outcome()->waited <= 8s);
}

TEST_CASE("wait: a held lock is checked about once a second, a changing one at most 50 times") {
  auto calm = world_of(patient(), held_until(60s));
  calm.run();
  for (const Duration pause : pauses(calm))
    CHECK((pause == 0s || (pause > 900ms && pause <= 1s)));

  Lock busy = held_until(60s);
  for (Duration when = 1s; when < 3s; when += 1ms)
    busy.store.hand_offs.push_back({when});
  auto world = world_of(patient(), busy);
  world.run(3s);
  CHECK(pauses(world).size() <= 110);
}

TEST_CASE("wait: an end of the lease that comes sooner ends the sleep") {
  Lock lock;
  lock.states = {{0s, held_by({"a:1"}, 400ms)}, {400ms, Holding{}}};
  auto world = world_of(patient(), lock);
  world.run();
  CHECK(world.outcome()->waited > 400ms);
  CHECK(world.outcome()->waited <= 420ms);
}

TEST_CASE("wait: without a subscription the bystander polls, and reports that") {
  Lock lock = held_until(10s);
  lock.watch_error = Error{Errc::denied, "no right"};
  auto world = world_of(patient(), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited <= 10500ms);
  CHECK(has(world.said(), "0s polling"));
  for (const Duration pause : pauses(world))
    CHECK(pause <= 500ms);
}

TEST_CASE("wait: -n checks once, -w gives up at its limit") {
  WatchTerms once = patient();
  once.wait.wait = 0s;
  auto single = world_of(once, held_until(k_ever));
  CHECK(single.run() == "0s inspect held, 0s end");
  CHECK(single.outcome()->kind == End::busy);
  REQUIRE(single.outcome()->holding);
  CHECK(single.outcome()->holding->type == "hash");

  WatchTerms limited = patient();
  limited.wait.wait = 3500ms;
  auto world = world_of(limited, held_until(k_ever));
  world.run();
  CHECK(world.outcome()->kind == End::busy);
  CHECK(world.outcome()->waited == 3500ms);
}

TEST_CASE("wait: --max-waiters of a run does not concern a bystander") {
  WatchTerms terms = patient();
  terms.wait.max_waiters = 0;
  auto world = world_of(terms, held_until(2s));
  world.run();
  CHECK(world.outcome()->kind == End::free);
}

TEST_CASE(
    "wait: an outage is reported once, after a second, and survived; the holder is named again") {
  Lock lock = held_until(40s);
  lock.store.troubles = {
      {.from = 5s, .until = 20s, .kind = Trouble::Kind::error, .code = Errc::not_listening}};
  auto world = world_of(patient(), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  const auto& told = world.notices();
  const auto is_away = [](const Notice& one) { return one.kind == Kind::store_away; };
  CHECK(std::count_if(told.begin(), told.end(), is_away) == 1);
  const auto away = std::find_if(told.begin(), told.end(), is_away);
  CHECK(away->seen_ago == 1s);
  const auto back =
      std::find_if(away, told.end(), [](const Notice& one) { return one.kind == Kind::waiting; });
  REQUIRE(back != told.end());
  CHECK(back->span >= 20s);
  CHECK(back->span <= 21s);
}

TEST_CASE("wait: an outage that lasts ends the wait, but no error counts as free") {
  for (const Errc code : {Errc::unavailable, Errc::timed_out, Errc::refused, Errc::protocol}) {
    CAPTURE(static_cast<int>(code));
    Lock lock = held_until(1500ms);
    lock.store.troubles = {
        {.from = 1s, .until = k_ever, .kind = Trouble::Kind::error, .code = code}};
    auto world = world_of(patient(), lock);
    world.run();
    REQUIRE(world.outcome());
    CHECK(world.outcome()->kind == End::failed);
    CHECK(world.outcome()->error.code == code);
    CHECK(world.outcome()->waited >= 30s);
    CHECK(world.outcome()->waited <= 33s);
  }
}

TEST_CASE("force-release: the wait ends when the revoked holders are gone, free or not") {
  const Holding before = held_by({"a:1"}, 30s);
  Lock lock;
  lock.states = {{0s, before}, {4s, held_by({"b:2"}, 30s)}};
  lock.store.hand_offs = {{4s}};
  auto world = world_of(revoked_as(before), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited == 4s);
  CHECK(world.notices().front().kind == Kind::waiting);
  CHECK(world.notices().front().left == 31s);
  CHECK_FALSE(has(world.said(), "free"));
}

TEST_CASE("force-release: the wait for several holders ends with the last") {
  const Holding before = held_by({"a:1", "b:2"}, 9s);
  Lock lock;
  lock.states = {{0s, before}, {2s, held_by({"b:2"}, 7s)}, {5s, Holding{}}};
  auto world = world_of(revoked_as(before), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited >= 5s);
}

TEST_CASE("force-release: --if-owner waits for that owner, whatever other holders there are") {
  const Holding before = held_by({"a:1", "b:2"}, 9s);
  Lock lock;
  lock.states = {{0s, before}, {2s, held_by({"a:1"}, 30s)}};
  auto world = world_of(revoked_as(before, {.if_owner = "b:2"}), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited >= 2s);
  CHECK(world.outcome()->waited <= 3s);
}

TEST_CASE("force-release: --if-token waits for the owner of that token") {
  Holding before = held_by({"a:1", "b:2"}, 9s);
  before.holds = {{.id = "a:1#s", .who = {}, .token = 5}, {.id = "b:2#s", .who = {}, .token = 6}};
  const auto revoked = revoked_holders(before, {.if_token = 6});
  REQUIRE(revoked.owners.size() == 1);
  CHECK(revoked.owners.front().id == "b:2");
}

TEST_CASE(
    "force-release: a holder that does not stop is reported as still there, 2 s after its lease") {
  const Holding before = held_by({"a:1"}, 6s);
  Lock lock;
  lock.states = {{0s, before}, {3s, held_by({"a:1"}, 600s)}};
  auto world = world_of(revoked_as(before), lock);
  world.run();
  CHECK(world.outcome()->kind == End::busy);
  CHECK(world.outcome()->waited >= 8s);
  CHECK(world.outcome()->waited <= 9s);
}

TEST_CASE(
    "force-release: of more holders than the store lists, the wait ends with the known leases") {
  Holding before = held_by({"a:1"}, 6s);
  before.owner_count = 3;
  before.revoked_by = "ann@host";
  Holding later = held_by({"b:2"}, 12s);
  later.owner_count = 2;
  later.revoked_by = "ann@host";
  Holding last = held_by({"c:3"}, 8s);
  last.revoked_by = "ann@host";
  Lock lock;
  lock.states = {{0s, before}, {5s, later}, {9s, last}, {17s, held_by({"d:4"}, 30s)}};
  auto world = world_of(revoked_as(before), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  CHECK(world.outcome()->waited >= 17s);
  CHECK(world.outcome()->waited <= 18s);
}

TEST_CASE("force-release: an unreachable store is asked again until the lease has ended") {
  const Holding before = held_by({"a:1"}, 6s);
  Lock lock = held_until(3s);
  lock.store.troubles = {{.from = 1s, .until = 5s, .kind = Trouble::Kind::error}};
  auto world = world_of(revoked_as(before), lock);
  world.run();
  CHECK(world.outcome()->kind == End::free);
  lock.store.troubles = {{.from = 1s, .until = k_ever, .kind = Trouble::Kind::error}};
  auto gone = world_of(revoked_as(before), lock);
  gone.run();
  CHECK(gone.outcome()->kind == End::failed);
  CHECK(gone.outcome()->waited == 8s);
}

}  // namespace dlock
