// SPDX-License-Identifier: MIT
// BesideStore: the peer lock is taken after the row, released with the row, and its loss is the
// loss of the hold.
#include "store/sql/beside_store.hpp"

#include "store/undo.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "support/memory_store.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;

// What the server of the peer lock answers, and what it was asked.
struct Peer {
  bool blocked = false;  // by another program
  std::optional<Error> take_fails = {};
  std::optional<Error> check_fails = {};
  int taken = 0;
  int checked = 0;
  int given_up = 0;
  std::vector<LockName> names = {};
  bool row_was_held = false;  // when it was given up
};

class ScriptedPeer final : public PeerLock {
 public:
  ScriptedPeer(Peer& peer, MemoryServer& rows) : peer_(peer), rows_(rows) {}
  std::string kind() const override { return "GET_LOCK"; }
  Result<void> fits(const LockName& name) const override {
    if (name.text() != "long") return {};
    return Error{Errc::bad_usage, "too long"};
  }
  bool is_one_for_all_names() const override { return false; }
  Result<Taken> take(const std::vector<LockName>& names, Time) override {
    if (peer_.take_fails) return *peer_.take_fails;
    if (peer_.blocked) return Taken(Blocked{.which = names.size() - 1, .by = "7"});
    ++peer_.taken;
    peer_.names = names;
    return Taken();
  }
  Result<void> check(Time) override {
    ++peer_.checked;
    return peer_.check_fails ? Result<void>(*peer_.check_fails) : Result<void>();
  }
  void give_up(Time) override {
    ++peer_.given_up;
    const auto found = rows_.locks.find("a");
    peer_.row_was_held = found != rows_.locks.end() && !found->second.leases.empty();
  }

 private:
  Peer& peer_;
  MemoryServer& rows_;
};

LockName name(std::string_view text) {
  return *LockName::parse(text);
}
Time soon() {
  return BootClock::now() + 5s;
}
Claim claim_of(std::vector<LockName> names, const HoldSerial& serial = "1") {
  return {.names = std::move(names), .owner = "owner-" + serial, .serial = serial, .ttl = 10s};
}

struct World {
  Peer peer;
  std::shared_ptr<MemoryServer> rows = std::make_shared<MemoryServer>();
  BesideStore store{std::make_unique<MemoryStore>(rows),
                    std::make_unique<ScriptedPeer>(peer, *rows)};
  MemoryStore other{rows};  // without `with=`

  Result<AcquireReply> acquire(const Claim& claim) {
    return store.acquire(claim, Queueing::no, soon());
  }
  Holds granted(const Claim& claim) {
    const auto reply = acquire(claim);
    REQUIRE(reply.has_value());
    REQUIRE(std::holds_alternative<Grant>(*reply));
    return std::get<Grant>(*reply).holds;
  }
  bool is_free(std::string_view text) {
    return other.inspect(name(text), soon())->kind == Holding::Kind::none;
  }
};

TEST_CASE(
    "beside: a grant has the peer lock, also when it is repeated, and the release gives it up") {
  World world;
  const Claim claim = claim_of({name("a")});
  const Holds holds = world.granted(claim);
  world.granted(claim);
  CHECK(world.peer.taken == 1);
  CHECK(*world.store.release(holds, {}, soon()) == ReleaseVerdict::released);
  CHECK(world.peer.given_up == 1);
  CHECK(world.peer.row_was_held);
  CHECK(world.is_free("a"));
  world.granted(claim_of({name("a")}, "2"));
  CHECK(world.peer.taken == 2);
}

TEST_CASE("beside: a lock that another program holds is a refusal, and the row is free again") {
  World world;
  world.peer.blocked = true;
  const auto reply = world.acquire(claim_of({name("b"), name("a")}));
  REQUIRE(reply.has_value());
  const auto& refusal = std::get<Refusal>(*reply);
  CHECK(refusal.holding.kind == Holding::Kind::foreign);
  CHECK(refusal.holding.type == "GET_LOCK of connection 7");
  CHECK(refusal.which == 1);
  CHECK(refusal.place == 0);
  CHECK(world.is_free("a"));
  CHECK(world.is_free("b"));
  const Time before = BootClock::now();
  CHECK(*world.store.await_hand_off(before + 5s) == HandOff::changed);
  CHECK(BootClock::now() < before + 1s);
  world.peer.blocked = false;
  world.granted(claim_of({name("b"), name("a")}));
}

TEST_CASE("beside: an error of the peer lock is the answer, and the row is free again") {
  World world;
  world.peer.take_fails = Error{Errc::timed_out, "no answer"};
  const auto reply = world.store.acquire(claim_of({name("a")}), Queueing::no, BootClock::now());
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::timed_out);
  CHECK(world.is_free("a"));
}

TEST_CASE("beside: a row that another dlock holds asks nothing of the peer lock") {
  World world;
  REQUIRE(world.other.acquire(claim_of({name("a")}, "2"), Queueing::no, soon()).has_value());
  const auto reply = world.acquire(claim_of({name("a")}));
  CHECK(std::get<Refusal>(*reply).holding.kind == Holding::Kind::lock);
  CHECK(world.peer.taken == 0);
}

TEST_CASE("beside: what is undone gives the peer lock up") {
  World world;
  const Claim claim = claim_of({name("a")});
  world.granted(claim);
  CHECK(undo(world.store, claim, Queueing::no, soon()).has_value());
  CHECK(world.peer.given_up == 1);
  CHECK(world.is_free("a"));
}

TEST_CASE("beside: a renewal and a check ask the peer lock first") {
  World world;
  const Holds holds = world.granted(claim_of({name("a")}));
  CHECK(world.store.renew(holds, soon())->verdict == RenewVerdict::renewed);
  CHECK(world.store.check(holds, soon())->verdict == RenewVerdict::held);
  CHECK(world.peer.checked == 2);

  world.peer.check_fails = Error{Errc::timed_out, "no answer"};
  CHECK(world.store.renew(holds, soon()).error().code == Errc::timed_out);
  CHECK(world.store.check(holds, soon()).error().code == Errc::timed_out);

  world.peer.check_fails = Error{Errc::lost, "lost the connection"};
  const int checked = world.peer.checked;
  for (const auto& reply : {world.store.renew(holds, soon()), world.store.check(holds, soon())}) {
    REQUIRE(reply.has_value());
    CHECK(reply->verdict == RenewVerdict::lost);
    CHECK(reply->some_left);
    CHECK(reply->because == "whose GET_LOCK is gone: lost the connection");
  }
  CHECK(world.peer.checked == checked + 1);
  CHECK_FALSE(world.is_free("a"));
  CHECK(*world.store.release(holds, {}, soon()) == ReleaseVerdict::released);
}

TEST_CASE("beside: who watches a hold is told within two seconds that the peer lock is gone") {
  World world;
  const Holds holds = world.granted(claim_of({name("a")}));
  REQUIRE(world.store.watch_hold(holds, soon()).has_value());
  const Time before = BootClock::now();
  CHECK(*world.store.await_hand_off(before + 1200ms) == HandOff::timed_out);
  CHECK(world.peer.checked == 1);
  world.peer.check_fails = Error{Errc::lost, "lost the connection"};
  const Time after = BootClock::now();
  CHECK(*world.store.await_hand_off(after + 10s) == HandOff::changed);
  CHECK(BootClock::now() < after + 2s);
}

TEST_CASE("beside: a nested claim has a peer lock of its own only if none above it has one") {
  World world;
  const std::string where = world.store.where();
  const Claim above = claim_of({name("a")});
  world.granted(above);
  Claim below = claim_of({name("a")}, "2");
  below.ancestors = {{.store = where, .key = "a", .owner = above.owner, .serial = above.serial}};
  CHECK(world.granted(below).front().nested);
  CHECK(world.peer.taken == 1);
  below.serial = "3";
  below.ancestors.front().store = "the same rows by another URL";
  CHECK(world.granted(below).front().nested);
  CHECK(world.peer.taken == 2);
  below = claim_of({name("b"), name("a")}, "4");
  below.ancestors = {{.store = where, .key = "a", .owner = above.owner, .serial = above.serial}};
  world.granted(below);
  CHECK(world.peer.names == std::vector{name("b")});
}

TEST_CASE("beside: it has no readers, no slots and no holds without a process") {
  World world;
  const StoreTraits traits = world.store.traits();
  CHECK_FALSE((traits.shared || traits.slots || traits.detached));
  CHECK((traits.exclusive && traits.several_names && traits.nesting && traits.line));
  Claim reader = claim_of({name("a")});
  reader.mode = Mode::shared;
  CHECK(world.acquire(reader).error().code == Errc::bad_usage);
  CHECK(world.store.key_of(name("long")).error().code == Errc::bad_usage);
  CHECK(*world.store.key_of(name("a")) == "a");
}

}  // namespace
}  // namespace dlock
