// SPDX-License-Identifier: MIT
#include "base/wall_clock.hpp"

#include <cstdlib>
#include <variant>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

TEST_CASE("a free lock is granted, and the next claim is refused with its holder") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Time before = BootClock::now();
    const Claim claim = claim_of(name);
    const Taken grant = first.take(claim);
    CHECK(grant.hold.owner == claim.owner);
    CHECK(grant.hold.serial == claim.serial);
    CHECK(grant.hold.token > 0);
    CHECK_FALSE(grant.hold.nested);
    CHECK(grant.sent_at >= before);
    CHECK(grant.sent_at <= BootClock::now());

    const Holding holding = second.must_be_busy(claim_of(name)).holding;
    CHECK(holding.kind == Holding::Kind::lock);
    CHECK(holding.owner_count == 1);
    REQUIRE(holding.owners.size() == 1);
    CHECK(holding.owners[0].id == claim.owner);
    CHECK(holding.owners[0].count == "1");
    REQUIRE(holding.holds.size() == 1);
    const HoldRecord& record = holding.holds[0];
    CHECK(record.id == hold_id(claim.owner, claim.serial));
    CHECK(record.who.host == "db1");
    CHECK(record.who.pid == 4711);
    CHECK(record.who.user == "alice");
    CHECK(record.who.command == "./job.sh --all");
    CHECK(record.who.reason == "CI 7");
    CHECK(record.token == grant.hold.token);
    CHECK(record.since_ms == grant.hold.since_ms);
    CHECK(record.since_ms <= holding.now_ms);
    CHECK(record.ttl == 30s);
    REQUIRE(holding.lease_left.within().has_value());
    CHECK(*holding.lease_left.within() > 20s);
    CHECK(*holding.lease_left.within() <= 30s);
    CHECK(holding.revoked_by.empty());
  });
}

TEST_CASE("inspecting a free lock shows no holder") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Holding holding = client.inspect(fresh_name());
    CHECK(holding.kind == Holding::Kind::none);
    CHECK(holding.owners.empty());
    CHECK(holding.holds.empty());
    CHECK(holding.now_ms > 1'600'000'000'000);
  });
}

TEST_CASE("inspecting shows what a refused claim is shown") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken grant = client.take(name);
    const Holding holding = client.inspect(name);
    CHECK(holding.kind == Holding::Kind::lock);
    REQUIRE(holding.owners.size() == 1);
    CHECK(holding.owners[0].id == grant.hold.owner);
    REQUIRE(holding.holds.size() == 1);
    CHECK(holding.holds[0].token == grant.hold.token);
  });
}

TEST_CASE("releasing frees the lock for another claim") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name);
    CHECK(first.release(grant.hold) == ReleaseVerdict::released);
    CHECK(first.inspect(name).kind == Holding::Kind::none);
    const Taken next = second.take(name);
    CHECK(next.hold.token > grant.hold.token);
  });
}

TEST_CASE("releasing twice says not held and leaves the next holder alone") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name);
    CHECK(first.release(grant.hold) == ReleaseVerdict::released);
    CHECK(first.release(grant.hold) == ReleaseVerdict::not_held);
    const Taken next = second.take(name);
    CHECK(first.release(grant.hold) == ReleaseVerdict::not_held);
    const Holding holding = second.inspect(name);
    REQUIRE(holding.owners.size() == 1);
    CHECK(holding.owners[0].id == next.hold.owner);
    CHECK(second.renew(next.hold).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("a stranger cannot release or renew the hold of another owner") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name);
    Hold forged = grant.hold;
    forged.owner = make_owner_id(1);
    CHECK(second.release(forged) == ReleaseVerdict::not_held);
    CHECK(second.renew(forged).verdict == RenewVerdict::lost);
    forged = grant.hold;
    forged.serial = make_hold_serial();
    CHECK(second.release(forged) == ReleaseVerdict::not_held);
    CHECK(first.inspect(name).owners[0].count == "1");
  });
}

TEST_CASE("a claim that is repeated counts once and keeps its token") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Claim claim = claim_of(name);
    const Taken first = client.take(claim);
    const Taken again = client.take(claim);
    CHECK(again.hold.token == first.hold.token);
    CHECK(again.hold.since_ms == first.hold.since_ms);
    CHECK(again.sent_at >= first.sent_at);
    CHECK(client.inspect(name).owners[0].count == "1");
    CHECK(client.inspect(name).holds.size() == 1);
    CHECK(client.release(first.hold) == ReleaseVerdict::released);
    CHECK(client.inspect(name).kind == Holding::Kind::none);
  });
}

TEST_CASE("a claim that is repeated extends the lease and does not shorten it") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    Claim claim = claim_of(name, 20s);
    client.take(claim);
    claim.ttl = 1s;
    client.take(claim);
    CHECK(client.inspect(name).lease_left.within().value() > 10s);
    claim.ttl = 60s;
    client.take(claim);
    CHECK(client.inspect(name).lease_left.within().value() > 40s);
  });
}

TEST_CASE("undoing a claim releases its hold, and is no error if the claim never arrived") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Claim claim = claim_of(name);
    client.undo(claim);
    client.take(claim);
    client.undo(claim);
    CHECK(client.inspect(name).kind == Holding::Kind::none);

    const Taken theirs = other.take(name);
    client.undo(claim);
    const Holding holding = client.inspect(name);
    REQUIRE(holding.owners.size() == 1);
    CHECK(holding.owners[0].id == theirs.hold.owner);
  });
}

TEST_CASE("fencing tokens only grow") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    FencingToken last = 0;
    for (int i = 0; i < 200; ++i) {
      const Taken grant = client.take(name);
      REQUIRE(grant.hold.token > last);
      last = grant.hold.token;
      REQUIRE(client.release(grant.hold) == ReleaseVerdict::released);
    }
    CHECK(last < (FencingToken{1} << 53U));
  });
}

TEST_CASE(
    "a token of one store is comparable with one of another: it is the time in microseconds") {
  each_store([](const Backing& backing) {
    constexpr std::int64_t k_about_us = 2'000'000;
    Client client(backing);
    const Taken first = client.take(fresh_name());
    CHECK(std::abs(static_cast<std::int64_t>(first.hold.token) - wall_us()) < k_about_us);
    const Holding holding = client.inspect(first.hold.name);
    REQUIRE(holding.holds.size() == 1);
    CHECK(holding.holds[0].token == first.hold.token);
    const Taken nested = client.take(claim_below(first.hold));
    CHECK(nested.hold.token == first.hold.token);
    CHECK(client.inspect(first.hold.name).holds[0].token == first.hold.token);
  });
}

}  // namespace dlock::contract
