// SPDX-License-Identifier: MIT
// A frozen name is granted to no new run; its present holders go on.
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

FreezeOrder freeze_for(Duration lasts, const std::string& reason = "upgrade") {
  HolderInfo who = some_holder();
  who.reason = reason;
  return {.owner = make_owner_id(4711), .who = who, .lasts = lasts};
}

Holding freeze(Client& client, const LockName& name, Duration lasts = 60s) {
  auto before = client.store().freeze(name, freeze_for(lasts), soon());
  REQUIRE_MESSAGE(before.has_value(), (before ? "" : before.error().text));
  return *before;
}

std::optional<Freeze> unfreeze(Client& client, const LockName& name) {
  auto ended = client.store().unfreeze(name, soon());
  REQUIRE_MESSAGE(ended.has_value(), (ended ? "" : ended.error().text));
  return *ended;
}

// Checks that the holding shows the freeze of freeze().
void check_frozen(const Holding& holding, Duration lasts = 60s) {
  REQUIRE(holding.frozen.has_value());
  CHECK(holding.frozen->who.host == "db1");
  CHECK(holding.frozen->who.reason == "upgrade");
  CHECK(holding.frozen->left <= lasts);
  CHECK(holding.frozen->left > lasts - 20s);
  CHECK(holding.frozen->since_ms > 0);
}

}  // namespace

TEST_CASE("freeze: a free name refuses every claim, shows the freeze, and thaws by itself") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    CHECK(freeze(client, name, 2s).kind == Holding::Kind::none);
    for (const Mode mode : k_alone_or_shared) {
      const AcquireReply reply = other.acquire(claim_as(mode, name));
      if (const auto* refusal = std::get_if<Refusal>(&reply)) {
        CHECK(refusal->holding.frozen.has_value());
        CHECK(refusal->holding.lease_left.within().value_or(0s) <= 2s);
      } else {  // on a slow machine
        other.release(std::get<Grant>(reply).holds);
      }
    }
    other.take_eventually(claim_of(name));
    CHECK_FALSE(client.inspect(name).frozen.has_value());
  });
}

TEST_CASE("freeze: programs that do not know dlock find a frozen name held") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName free = fresh_name();
    const LockName held = fresh_name();
    const Hold hold = client.take(held).hold;
    freeze(client, free);
    freeze(client, held);
    CHECK(client.release(hold) == ReleaseVerdict::released);
    for (const LockName& name : {free, held}) {
      const Holding holding = client.inspect(name);
      check_frozen(holding);
      CHECK(holding.kind == Holding::Kind::lock);
      CHECK(holding.owner_count == 1);
      REQUIRE(holding.holds.size() == 1);
      CHECK(holding.holds[0].kept);
      CHECK(holding.holds[0].token == 0);
      CHECK(holding.lease_left.within().value() > 20s);
    }
  });
}

TEST_CASE("freeze: the present holder and its nested runs go on, and the last release freezes") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold outer = client.take(name).hold;
    const Holding before = freeze(other, name);
    CHECK(before.owners.at(0).id == outer.owner);
    CHECK_FALSE(before.frozen.has_value());
    CHECK(client.renew(outer).verdict == RenewVerdict::renewed);
    CHECK(client.check(outer).verdict == RenewVerdict::held);
    check_frozen(other.must_be_busy(claim_of(name)).holding);
    const Hold inner = client.take(claim_below(outer)).hold;
    CHECK(client.release(inner) == ReleaseVerdict::still_held);
    CHECK(client.release(outer) == ReleaseVerdict::released);
    check_frozen(other.must_be_busy(claim_of(name)).holding);
    CHECK(client.renew(outer).verdict == RenewVerdict::lost);
    CHECK(client.release(outer) == ReleaseVerdict::not_held);
    check_frozen(other.must_be_busy(claim_below(outer)).holding);
  });
}

TEST_CASE("freeze: readers go on until the last has ended; no new one comes") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold one = client.take(reader(name)).hold;
    const Hold two = other.take(reader(name)).hold;
    freeze(client, name);
    client.must_be_busy(reader(name));
    CHECK(client.release(one) == ReleaseVerdict::released);
    client.must_be_busy(reader(name));
    CHECK(other.check(two).verdict == RenewVerdict::held);
    CHECK(other.release(two) == ReleaseVerdict::released);
    check_frozen(client.must_be_busy(reader(name)).holding);
    CHECK(unfreeze(client, name).has_value());
    client.take(reader(name));
  });
}

TEST_CASE("freeze: free slots are refused as well") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    if (!has_slots(backing)) return;
    Client client(backing);
    const LockName name = fresh_name();
    const Hold one = client.take(claim_slot(3, name)).hold;
    freeze(client, name);
    check_frozen(client.must_be_busy(claim_slot(3, name)).holding);
    CHECK(client.release(one) == ReleaseVerdict::released);
    check_frozen(client.must_be_busy(claim_slot(3, name)).holding);
    CHECK(unfreeze(client, name).has_value());
    client.take(claim_slot(3, name));
    client.take(claim_slot(3, name));
  });
}

TEST_CASE("freeze: the lock of a holder that dies is kept again by the next claim") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.take(name, 1s);
    freeze(client, name);
    CHECK(eventually([&] { return client.inspect(name).kind == Holding::Kind::none; }));
    check_frozen(client.inspect(name));
    check_frozen(client.must_be_busy(claim_of(name)).holding);
    CHECK(client.inspect(name).kind == Holding::Kind::lock);
    CHECK(client.inspect(name).holds.at(0).kept);
  });
}

TEST_CASE("freeze: a claim of several names is refused if one is frozen") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName free = fresh_name("{freeze}a");
    const LockName frozen = fresh_name("{freeze}b");
    freeze(client, frozen);
    const Refusal refusal = client.must_be_busy(claim_of({free, frozen}));
    CHECK(refusal.which == 1);
    CHECK(is_free(client, free));
  });
}

TEST_CASE("unfreeze: the name is free at once, and the first waiter gets it") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    CHECK_FALSE(unfreeze(client, name).has_value());
    freeze(client, name);
    Client waiter(backing);
    waiter.wait_in_line();
    const Claim claim = claim_of(name);
    waiter.must_be_busy(claim);
    const auto ended = unfreeze(client, name);
    REQUIRE(ended.has_value());
    CHECK(ended->who.reason == "upgrade");
    CHECK(ended->left > 20s);
    CHECK_FALSE(unfreeze(client, name).has_value());
    waiter.take(claim);
    CHECK_FALSE(client.inspect(name).frozen.has_value());
  });
}

TEST_CASE("unfreeze: a holder that was there before the freeze holds the lock on") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(name).hold;
    freeze(client, name);
    CHECK(unfreeze(client, name).has_value());
    CHECK(client.check(hold).verdict == RenewVerdict::held);
    CHECK(client.release(hold) == ReleaseVerdict::released);
    CHECK(is_free(client, name));
  });
}

TEST_CASE("freeze: a later freeze replaces an earlier one, shorter or longer") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    freeze(client, name, 1h);
    check_frozen(freeze(client, name, 40s), 1h);
    check_frozen(client.inspect(name), 40s);
    CHECK(client.inspect(name).lease_left.within().value() <= 40s);
    freeze(client, name, 2h);
    check_frozen(client.must_be_busy(claim_of(name)).holding, 2h);
  });
}

TEST_CASE("freeze: revocations stop a holder, but end no freeze") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    for (const bool now : {false, true}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold hold = client.take(name).hold;
      freeze(client, name);
      const RevokeVerdict verdict = client.revoke(name, order(now)).verdict;
      CHECK(verdict == (now ? RevokeVerdict::deleted : RevokeVerdict::revoked));
      CHECK(client.check(hold).verdict == (now ? RenewVerdict::lost : RenewVerdict::revoked));
      client.release(hold);
      check_frozen(client.must_be_busy(claim_of(name)).holding);
      CHECK(client.revoke(name, order(now)).verdict == RevokeVerdict::frozen);
      check_frozen(client.must_be_busy(claim_of(name)).holding);
    }
  });
}

TEST_CASE("freeze: with --min-hold the lock is kept for the longer of both times") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    for (const Duration keep : {Duration(5s), Duration(2h)}) {
      const LockName name = fresh_name();
      const Hold hold = client.take(name).hold;
      freeze(client, name, 1h);
      CHECK(client.release(hold, {.keep = keep}) == ReleaseVerdict::released);
      CHECK(client.inspect(name).lease_left.within().value() > 50min);
    }
  });
}

}  // namespace dlock::contract
