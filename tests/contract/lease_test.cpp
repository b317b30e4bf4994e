// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

bool gets_free(Client& client, const LockName& name) {
  return eventually([&] { return is_free(client, name); });
}

}  // namespace

TEST_CASE("renewing extends the lease") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    Hold hold = client.take(name, 5s).hold;
    hold.ttl = 30s;
    const Time before = BootClock::now();
    const RenewReply reply = client.renew(hold);
    CHECK(reply.verdict == RenewVerdict::renewed);
    CHECK(reply.sent_at >= before);
    CHECK(reply.sent_at <= BootClock::now());
    CHECK(client.inspect(name).lease_left.within().value() > 20s);
  });
}

TEST_CASE("renewing never shortens the lease") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    Hold hold = client.take(name, 30s).hold;
    hold.ttl = 1s;
    CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
    CHECK(client.inspect(name).lease_left.within().value() > 20s);
  });
}

TEST_CASE("renewing keeps the token and the record of the hold") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken grant = client.take(name);
    CHECK(client.renew(grant.hold).verdict == RenewVerdict::renewed);
    const Holding holding = client.inspect(name);
    REQUIRE(holding.holds.size() == 1);
    CHECK(holding.holds[0].token == grant.hold.token);
    CHECK(holding.holds[0].since_ms == grant.hold.since_ms);
    CHECK(holding.holds[0].who.host == "db1");
    CHECK(holding.owners[0].count == "1");
  });
}

TEST_CASE("a lease that is not renewed ends, and the next one gets a larger token") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name, 200ms);
    const Taken next = second.take_eventually(claim_of(name));
    CHECK(BootClock::now() >= grant.sent_at + 200ms);
    CHECK(next.hold.token > grant.hold.token);
    CHECK(second.inspect(name).holds.size() == 1);
    CHECK(second.inspect(name).owners[0].count == "1");
  });
}

TEST_CASE("renewing a lease that has ended says lost and does not bring it back") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken grant = client.take(name, 200ms);
    REQUIRE(gets_free(client, name));
    const RenewReply reply = client.renew(grant.hold);
    CHECK(reply.verdict == RenewVerdict::lost);
    CHECK(reply.holding.kind == Holding::Kind::none);
    CHECK(is_free(client, name));
    client.take(name);
  });
}

TEST_CASE("renewing a released or never taken lock says lost and creates nothing") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken grant = client.take(name);
    CHECK(client.release(grant.hold) == ReleaseVerdict::released);
    CHECK(client.renew(grant.hold).verdict == RenewVerdict::lost);
    CHECK(is_free(client, name));
    Hold never = grant.hold;
    never.name = fresh_name();
    CHECK(client.renew(never).verdict == RenewVerdict::lost);
    CHECK(is_free(client, never.name));
  });
}

TEST_CASE(
    "renewing a lock that has another holder says lost, names that holder and leaves its lease "
    "alone") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name, 200ms);
    const Taken next = second.take_eventually(claim_of(name, 5s));
    Hold late = grant.hold;
    late.ttl = 60s;
    const RenewReply reply = first.renew(late);
    CHECK(reply.verdict == RenewVerdict::lost);
    REQUIRE(reply.holding.owners.size() == 1);
    CHECK(reply.holding.owners.front().id == next.hold.owner);
    const Holding holding = second.inspect(name);
    REQUIRE(holding.owners.size() == 1);
    CHECK(holding.owners[0].id == next.hold.owner);
    CHECK(holding.holds.size() == 1);
    CHECK(holding.lease_left.within().value() <= 5s);
  });
}

TEST_CASE("releasing a hold whose lease has ended touches nothing") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name, 200ms);
    REQUIRE(gets_free(first, name));
    CHECK(first.release(grant.hold) == ReleaseVerdict::not_held);
    const Taken next = second.take(name);
    CHECK(first.release(grant.hold) == ReleaseVerdict::not_held);
    CHECK(second.renew(next.hold).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("no claim joins an ancestor whose lease has ended and whose lock has another holder") {
  each_store([](const Backing& backing) {
    Client first(backing);
    Client second(backing);
    const LockName name = fresh_name();
    const Taken grant = first.take(name, 200ms);
    second.take_eventually(claim_of(name));
    first.must_be_busy(claim_below(grant.hold));
  });
}

}  // namespace dlock::contract
