// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

RevokeOrder order_by(const std::string& who) {
  return {.by = who, .now = false, .if_owner = {}, .if_token = {}};
}

}  // namespace

TEST_CASE("the renewal of a revoked hold says revoked, and its lease is not extended") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client admin(backing);
    const LockName name = fresh_name();
    Hold hold = holder.take(name, 10s).hold;
    const RevokeReply reply = admin.revoke(name, order_by("bob@ops"));
    CHECK(reply.verdict == RevokeVerdict::revoked);
    REQUIRE(reply.before.owners.size() == 1);
    CHECK(reply.before.owners[0].id == hold.owner);
    CHECK(reply.before.revoked_by.empty());

    hold.ttl = 60s;
    const RenewReply renewed = holder.renew(hold);
    CHECK(renewed.verdict == RenewVerdict::revoked);
    CHECK(renewed.revoked_by == "bob@ops");
    const Holding holding = admin.inspect(name);
    CHECK(holding.kind == Holding::Kind::lock);
    CHECK(holding.revoked_by == "bob@ops");
    CHECK(holding.lease_left.within().value() <= 10s);
  });
}

TEST_CASE("a revoked lock excludes others until its release, and is an ordinary lock afterwards") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Taken grant = holder.take(name);
    CHECK(other.revoke(name, order_by("bob@ops")).verdict == RevokeVerdict::revoked);
    other.must_be_busy(claim_of(name));
    CHECK(holder.release(grant.hold) == ReleaseVerdict::released);
    const Taken next = other.take(name);
    CHECK(other.renew(next.hold).verdict == RenewVerdict::renewed);
    CHECK(other.inspect(name).revoked_by.empty());
  });
}

TEST_CASE("nothing nests into a revoked hold, and its claim is not repeated") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Claim claim = claim_of(name);
    const Taken grant = client.take(claim);
    CHECK(client.revoke(name, order_by("bob@ops")).verdict == RevokeVerdict::revoked);
    client.must_be_busy(claim_below(grant.hold));
    client.must_be_busy(claim);
  });
}

TEST_CASE("revoking now frees the lock, and its holder finds it lost") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client admin(backing);
    const LockName name = fresh_name();
    const Taken grant = holder.take(name);
    RevokeOrder order = order_by("bob@ops");
    order.now = true;
    const RevokeReply reply = admin.revoke(name, order);
    CHECK(reply.verdict == RevokeVerdict::deleted);
    CHECK(reply.before.owners.size() == 1);
    CHECK(admin.inspect(name).kind == Holding::Kind::none);
    CHECK(holder.renew(grant.hold).verdict == RenewVerdict::lost);
    CHECK(holder.release(grant.hold) == ReleaseVerdict::not_held);
    CHECK(admin.take(name).hold.token > grant.hold.token);
  });
}

TEST_CASE("revoking a free lock does nothing") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    CHECK(client.revoke(name, order_by("bob@ops")).verdict == RevokeVerdict::nothing);
    const Taken grant = client.take(name);
    CHECK(client.renew(grant.hold).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("revoking is refused when the lock has another owner or token") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken grant = client.take(name);
    RevokeOrder order = order_by("bob@ops");
    order.now = true;
    order.if_owner = make_owner_id(1);
    CHECK(client.revoke(name, order).verdict == RevokeVerdict::other_holder);
    order.if_owner.reset();
    order.if_token = grant.hold.token + 1;
    CHECK(client.revoke(name, order).verdict == RevokeVerdict::other_holder);
    CHECK(client.renew(grant.hold).verdict == RenewVerdict::renewed);

    order.now = false;
    order.if_owner = grant.hold.owner;
    order.if_token = grant.hold.token;
    CHECK(client.revoke(name, order).verdict == RevokeVerdict::revoked);
    CHECK(client.renew(grant.hold).verdict == RenewVerdict::revoked);
  });
}

TEST_CASE("a revocation ends with the lease that it revoked") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.take(name, 200ms);
    CHECK(client.revoke(name, order_by("bob@ops")).verdict == RevokeVerdict::revoked);
    const Taken next = client.take_eventually(claim_of(name));
    CHECK(client.renew(next.hold).verdict == RenewVerdict::renewed);
    CHECK(client.inspect(name).revoked_by.empty());
  });
}

TEST_CASE("an owner whose lease has ended cannot be revoked, while others hold the lock") {
  each_store([](const Backing& backing) {
    for (const bool now : {false, true}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold alive = client.take(reader(name)).hold;
      const Hold dead = client.take(reader(name, 200ms)).hold;
      CHECK(eventually([&] { return client.inspect(name).owner_count == 1; }));
      RevokeOrder revocation = order_by("bob@ops");
      revocation.now = now;
      revocation.if_owner = dead.owner;
      CHECK(client.revoke(name, revocation).verdict == RevokeVerdict::other_holder);
      revocation.if_owner = {};
      revocation.if_token = dead.token;
      CHECK(client.revoke(name, revocation).verdict == RevokeVerdict::other_holder);
      CHECK(client.renew(alive).verdict == RenewVerdict::renewed);
    }
  });
}

TEST_CASE("in every mode a repeated claim is busy after its hold was revoked") {
  each_store([](const Backing& backing) {
    for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared, Mode::slots}) {
      if (mode == Mode::slots && !has_slots(backing)) continue;
      Client client(backing);
      Client other(backing);
      const LockName name = fresh_name();
      Claim claim = claim_as(mode, name);
      if (mode == Mode::slots) claim.slots = 3;
      const Taken taken = client.take(claim);
      CHECK(other.revoke(name, {.by = "ann@h"}).verdict == RevokeVerdict::revoked);
      client.must_be_busy(claim);
      CHECK(client.release(taken.hold) == ReleaseVerdict::released);
      CHECK(other.inspect(name).kind == Holding::Kind::none);
    }
  });
}

}  // namespace dlock::contract
