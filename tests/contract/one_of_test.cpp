// SPDX-License-Identifier: MIT
// A claim of one of several names: it gets the first that it can have, and never two.
#include <cstddef>
#include <vector>

#include "contract/pool.hpp"

namespace dlock::contract {

namespace {

std::size_t count_held(Client& client, const Pool& pool) {
  std::size_t held = 0;
  for (const LockName& name : pool.names())
    held += is_free(client, name) ? 0U : 1U;
  return held;
}

}  // namespace

TEST_CASE("one of several: the claim gets one name, the first free one in its own order") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    const Pool pool;
    std::vector<Hold> taken;
    for (const std::size_t from : {1U, 1U, 1U}) {
      const Taken one = client.take(pool.claim(from));
      REQUIRE(one.holds.size() == 1);
      CHECK(one.hold.token > 0);
      CHECK(client.inspect(one.hold.name).holds.at(0).id ==
            hold_id(one.hold.owner, one.hold.serial));
      taken.push_back(one.hold);
      CHECK(count_held(client, pool) == taken.size());
    }
    CHECK(taken[0].name == pool.b);
    CHECK(taken[1].name == pool.c);
    CHECK(taken[2].name == pool.a);
    client.must_be_busy(pool.claim());
    CHECK(client.release(taken[1]) == ReleaseVerdict::released);
    CHECK(client.take(pool.claim()).hold.name == pool.c);
  });
}

TEST_CASE("one of several: a repeated claim gets the same hold, and takes no second name") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const Pool pool;
    const Hold first = other.take(pool.a).hold;
    const Claim claim = pool.claim();
    const Hold hold = client.take(claim).hold;
    CHECK(hold.name == pool.b);
    CHECK(other.release(first) == ReleaseVerdict::released);  // now the preferred name is free
    const Taken again = client.take(claim);
    CHECK(again.hold.name == pool.b);
    CHECK(again.hold.token == hold.token);
    CHECK(client.inspect(pool.b).owners.at(0).count == "1");
    CHECK(count_held(client, pool) == 1);
    CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
    CHECK(client.release(hold) == ReleaseVerdict::released);
    CHECK(count_held(client, pool) == 0);
  });
}

TEST_CASE(
    "one of several: a claim whose hold was revoked before it knew of it gets no second name") {
  each_pool([](const Backing& backing) {
    for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared}) {
      Client client(backing);
      client.wait_in_line();
      const Pool pool;
      Claim claim = pool.claim(2);
      claim.mode = mode;
      claim.ttl = 3s;
      const Hold hold = client.take(claim).hold;
      CHECK(hold.name == pool.c);
      CHECK(client.revoke(pool.c, order()).verdict == RevokeVerdict::revoked);
      const Refusal refusal = client.must_be_busy(claim);
      CHECK(refusal.which == 2);
      CHECK_FALSE(refusal.by_ancestor);
      CHECK(count_held(client, pool) == 1);
      client.take(pool.a);  // it stands in no other line
      client.undo(claim);
      CHECK(is_free(client, pool.c));
    }
  });
}

TEST_CASE("one of several: when the lease of a lost grant is over, any name can be taken") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    const Pool pool;
    Claim claim = pool.claim();
    claim.ttl = 1s;
    client.take(claim);
    CHECK(eventually([&] { return is_free(client, pool.a); }));
    client.take(pool.a);
    CHECK(client.take(claim).hold.name == pool.b);
  });
}

TEST_CASE("one of several: undoing releases the one, whichever it is") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    for (const std::size_t from : {0U, 1U, 2U}) {
      const Pool pool;
      const Claim claim = pool.claim(from);
      client.undo(claim);
      client.take(claim);
      const Hold other = client.take(pool.names()[(from + 1) % 3]).hold;
      client.undo(claim);
      CHECK(count_held(client, pool) == 1);
      CHECK(client.renew(other).verdict == RenewVerdict::renewed);
    }
  });
}

TEST_CASE("one of several: below a hold of one name the claim joins that hold") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    const Pool pool;
    const Hold outer = client.take(pool.c).hold;
    const Claim inner = below(outer, pool.claim());
    for (int i = 0; i < 2; ++i) {
      const Taken joined = client.take(inner);
      REQUIRE(joined.holds.size() == 1);
      CHECK(joined.hold.name == pool.c);
      CHECK(joined.hold.nested);
      CHECK(joined.hold.token == outer.token);
    }
    CHECK(count_held(client, pool) == 1);
    CHECK(client.inspect(pool.c).owners.at(0).count == "2");
    client.undo(inner);
    CHECK(client.inspect(pool.c).owners.at(0).count == "1");
    CHECK(client.release(outer) == ReleaseVerdict::released);
  });
}

TEST_CASE("one of several: a hold above in another mode is in the way only if there is no other") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    const Pool pool;
    const Hold outer = client.take(reader(pool.a)).hold;
    CHECK(client.take(below(outer, pool.claim())).hold.name == pool.b);
    client.take(pool.c);
    Claim claim = claim_of({pool.a, pool.c});
    claim.one_from = 0;
    const Refusal refusal = client.must_be_busy(below(outer, claim));
    CHECK_FALSE(refusal.by_ancestor);
    CHECK(refusal.which == 1);
    claim = claim_of(std::vector{pool.a});
    claim.one_from = 0;
    CHECK(client.must_be_busy(below(outer, claim)).by_ancestor);
  });
}

TEST_CASE("one of several: a lost hold of acquire on which the claim relies is an error") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    const Pool pool;
    Claim claim = claim_of(pool.b);
    claim.serial = serial_of(claim.owner);
    const Hold acquired = client.take(claim).hold;
    Claim inner = below(acquired, pool.claim());
    inner.relies_on = {hold_id(acquired.owner, acquired.serial)};
    CHECK(client.revoke(pool.b, order(true)).verdict == RevokeVerdict::deleted);
    client.must_be_lost(inner);
    CHECK(count_held(client, pool) == 0);
  });
}

TEST_CASE("one of several: modes and slots count for each name") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    const Pool pool;
    Claim readers = pool.claim();
    readers.mode = Mode::shared;
    client.take(reader(pool.a));
    client.take(pool.b);
    CHECK(client.take(readers).hold.name == pool.a);
    if (!has_slots(backing)) return;
    const Pool other;
    for (int i = 0; i < 6; ++i) {
      Claim slot = other.claim();
      slot.mode = Mode::slots;
      slot.slots = 2;
      const Hold hold = client.take(slot).hold;
      CHECK(hold.name == other.names()[static_cast<std::size_t>(i / 2)]);
      CHECK(hold.slot == static_cast<std::uint32_t>(i % 2));
    }
    CHECK(client.must_be_busy(other.claim()).which < 3);
  });
}

TEST_CASE("one of several: a frozen name is passed over") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    if (!client.store().traits().one_of) return;
    const Pool pool;
    const FreezeOrder freeze{.owner = make_owner_id(1), .who = some_holder(), .lasts = 1h};
    REQUIRE(client.store().freeze(pool.a, freeze, soon()).has_value());
    CHECK(client.take(pool.claim()).hold.name == pool.b);
    const Hold last = client.take(pool.claim()).hold;
    CHECK(last.name == pool.c);
    client.must_be_busy(pool.claim());
    REQUIRE(client.store().unfreeze(pool.a, soon()).has_value());
    CHECK(client.take(pool.claim()).hold.name == pool.a);
  });
}

}  // namespace dlock::contract
