// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

TEST_CASE("a claim below a live hold joins it under the same owner and token") {
  each_store([](const Backing& backing) {
    Client outer(backing);
    Client inner(backing);
    const LockName name = fresh_name();
    const Taken parent = outer.take(name);
    const Claim claim = claim_below(parent.hold);
    const Taken child = inner.take(claim);
    CHECK(child.hold.nested);
    CHECK(child.hold.owner == parent.hold.owner);
    CHECK(child.hold.serial == claim.serial);
    CHECK(child.hold.token == parent.hold.token);
    CHECK(inner.inspect(name).owners[0].count == "2");
    CHECK(inner.inspect(name).holds.size() == 2);

    const Taken again = inner.take(claim);
    CHECK(again.hold.nested);
    CHECK(inner.inspect(name).owners[0].count == "2");

    CHECK(inner.release(child.hold) == ReleaseVerdict::still_held);
    CHECK(inner.release(child.hold) == ReleaseVerdict::not_held);
    CHECK(inner.inspect(name).owners[0].count == "1");
    CHECK(outer.release(parent.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("a nested hold may nest again, and the nearest living ancestor counts") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken first = client.take(name);
    const Taken second = client.take(claim_below(first.hold));
    Claim claim = claim_below(first.hold);
    claim.ancestors.push_back(ancestor_of(second.hold));
    const Taken third = client.take(claim);
    CHECK(third.hold.owner == first.hold.owner);
    CHECK(client.inspect(name).owners[0].count == "3");
    CHECK(client.release(second.hold) == ReleaseVerdict::still_held);
    Claim late = claim_below(first.hold);
    late.ancestors.push_back(ancestor_of(second.hold));
    CHECK(client.take(late).hold.nested);  // the second is gone, the first still lives
  });
}

TEST_CASE("a nested hold that outlives its parent keeps the lock until it ends") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client stranger(backing);
    const LockName name = fresh_name();
    const Taken parent = client.take(name);
    const Taken child = client.take(claim_below(parent.hold));
    CHECK(client.release(parent.hold) == ReleaseVerdict::still_held);
    stranger.must_be_busy(claim_of(name));
    CHECK(client.renew(child.hold).verdict == RenewVerdict::renewed);
    CHECK(client.release(child.hold) == ReleaseVerdict::released);
    stranger.take(name);
  });
}

TEST_CASE("no claim joins an ancestor that has released, even while another nested hold lives") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken parent = client.take(name);
    const Taken child = client.take(claim_below(parent.hold));
    CHECK(client.release(parent.hold) == ReleaseVerdict::still_held);
    client.must_be_busy(claim_below(parent.hold));
    CHECK(client.inspect(name).owners[0].count == "1");
    CHECK(client.release(child.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("no claim joins through a forged ancestor") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken grant = client.take(name);
    Hold forged = grant.hold;
    forged.serial = make_hold_serial();
    client.must_be_busy(claim_below(forged));
    forged = grant.hold;
    forged.owner = make_owner_id(1);
    client.must_be_busy(claim_below(forged));
    CHECK(client.inspect(name).owners[0].count == "1");
  });
}

TEST_CASE("a claim below an ancestor's hold gets a lease of its own if the lock is free") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken parent = client.take(name);
    CHECK(client.release(parent.hold) == ReleaseVerdict::released);
    const Claim claim = claim_below(parent.hold);
    const Taken grant = client.take(claim);
    CHECK_FALSE(grant.hold.nested);
    CHECK(grant.hold.owner == claim.owner);
    CHECK(grant.hold.token > parent.hold.token);
  });
}

TEST_CASE("two runs below one parent exclude each other on another name") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName outer = fresh_name("outer");
    const LockName inner = fresh_name("inner");
    client.take(outer);
    // For the inner name neither has an ancestor's hold: each claims with an owner of its own.
    client.take(inner);
    client.must_be_busy(claim_of(inner));
  });
}

TEST_CASE("a short nested hold does not shorten the lease of its parent") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken parent = client.take(name, 30s);
    const Taken child = client.take(claim_below(parent.hold, 1s));
    CHECK(client.inspect(name).lease_left.within().value() > 20s);
    CHECK(client.renew(child.hold).verdict == RenewVerdict::renewed);
    CHECK(client.inspect(name).lease_left.within().value() > 20s);
    CHECK(client.release(child.hold) == ReleaseVerdict::still_held);
    CHECK(client.inspect(name).lease_left.within().value() > 20s);
  });
}

TEST_CASE("undoing a nested claim releases what the claim may have joined") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken parent = client.take(name);
    const Claim claim = claim_below(parent.hold);
    client.take(claim);
    client.undo(claim);
    const Holding holding = client.inspect(name);
    REQUIRE(holding.owners.size() == 1);
    CHECK(holding.owners[0].count == "1");
    CHECK(client.release(parent.hold) == ReleaseVerdict::released);
  });
}

}  // namespace dlock::contract
