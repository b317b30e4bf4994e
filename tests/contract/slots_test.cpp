// SPDX-License-Identifier: MIT
// A name with a number of slots: so many may hold it, each with a number of its own.
#include <set>
#include <string>
#include <variant>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

Holds take_all(Client& client, const LockName& name, std::uint32_t slots) {
  Holds holds;
  while (holds.size() < slots)
    holds.push_back(client.take(claim_slot(slots, name)).hold);
  return holds;
}

}  // namespace

TEST_CASE("slots: a name has as many holders as slots, each with a number of its own") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    for (const std::uint32_t slots : {1U, 3U}) {
      Client client(backing);
      Client other(backing);
      const LockName name = fresh_name();
      FencingToken last = 0;
      std::uint32_t next = 0;
      for (const Hold& hold : take_all(client, name, slots)) {
        CHECK(hold.mode == Mode::slots);
        CHECK(hold.slot == next++);
        CHECK(hold.token > last);
        CHECK_FALSE(hold.nested);
        last = hold.token;
      }
      const Refusal refusal = other.must_be_busy(claim_slot(slots, name));
      CHECK_FALSE(refusal.by_ancestor);
      const Holding& holding = refusal.holding;
      CHECK(holding.mode == Mode::slots);
      CHECK(holding.slots == slots);
      CHECK(holding.owner_count == slots);
      std::set<std::uint32_t> numbers;
      for (const HoldRecord& record : holding.holds) {
        CHECK(record.mode == Mode::slots);
        numbers.insert(record.slot.value());
      }
      CHECK(numbers.size() == slots);
      CHECK(*numbers.rbegin() == slots - 1);
    }
  });
}

TEST_CASE("slots: a claim gets the lowest free number, and the others keep theirs") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const auto holds = take_all(client, name, 4);
    CHECK(client.release(holds[2]) == ReleaseVerdict::released);
    CHECK(client.release(holds[1]) == ReleaseVerdict::released);
    CHECK(client.renew(holds[3]).verdict == RenewVerdict::renewed);
    CHECK(client.take(claim_slot(4, name)).hold.slot == 1U);
    CHECK(client.take(claim_slot(4, name)).hold.slot == 2U);
    client.must_be_busy(claim_slot(4, name));
  });
}

TEST_CASE("slots: a repeated claim keeps its number and counts once") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold first = client.take(claim_slot(3, name)).hold;
    const Claim claim = claim_slot(3, name);
    CHECK(client.take(claim).hold.slot == 1U);
    CHECK(client.release(first) == ReleaseVerdict::released);
    const Hold again = client.take(claim).hold;
    CHECK(again.slot == 1U);
    CHECK(client.inspect(name).owner_count == 1);
    CHECK(client.release(again) == ReleaseVerdict::released);
    CHECK(client.inspect(name).kind == Holding::Kind::none);
  });
}

TEST_CASE("slots: a claim of another number waits until all present slots have ended") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold one = client.take(claim_slot(3, name)).hold;
    const Hold two = client.take(claim_slot(3, name)).hold;
    for (const std::uint32_t slots : {1U, 4U}) {
      const Refusal refusal = client.must_be_busy(claim_slot(slots, name));
      CHECK(refusal.holding.mode == Mode::slots);
      CHECK(refusal.holding.slots == 3);
    }
    Client waiter(backing);
    waiter.wait_in_line(Queueing::polling);
    const Claim claim = claim_slot(4, name);
    waiter.must_be_busy(claim);
    // A claim that fits, but came later, does not overtake it.
    if (client.store().traits().line) client.must_be_busy(claim_slot(3, name));
    CHECK(client.release(one) == ReleaseVerdict::released);
    waiter.must_be_busy(claim);
    CHECK(client.release(two) == ReleaseVerdict::released);
    CHECK(waiter.take(claim).hold.slot == 0U);
    CHECK(client.inspect(name).slots == 4);
  });
}

TEST_CASE("slots: slots and holders of every other mode exclude each other") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold slot = client.take(claim_slot(3, name)).hold;
      CHECK(client.must_be_busy(claim_as(mode, name)).holding.mode == Mode::slots);
      CHECK(client.release(slot) == ReleaseVerdict::released);
      const Hold other = client.take(claim_as(mode, name)).hold;
      CHECK(client.must_be_busy(claim_slot(3, name)).holding.mode == mode);
      CHECK(client.release(other) == ReleaseVerdict::released);
      client.take(claim_slot(3, name));
    }
  });
}

TEST_CASE(
    "slots: the slot of a dead holder is free after its own lease while others renew (2213)") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName full = fresh_name();
    for (const Duration ttl : {Duration(90s), Duration(20s), Duration(90s)})
      client.take(claim_slot(3, full, ttl));
    const Holding all = client.must_be_busy(claim_slot(3, full)).holding;
    CHECK(all.lease_left.within().value() <= 20s);  // the next one that makes room
    const LockName name = fresh_name();
    const Hold one = client.take(claim_slot(3, name)).hold;
    const Taken dead = client.take(claim_slot(3, name, 500ms));
    const Hold two = client.take(claim_slot(3, name)).hold;
    const Claim claim = claim_slot(3, name);
    const AcquireReply busy = client.acquire(claim);
    if (const auto* refusal = std::get_if<Refusal>(&busy)) {
      CHECK(refusal->holding.lease_left.within().value() <= 500ms);
      CHECK(client.renew(one).verdict == RenewVerdict::renewed);
      const Hold next = client.take_eventually(claim).hold;
      CHECK(BootClock::now() >= dead.sent_at + 500ms);
      CHECK(next.slot == dead.hold.slot);
    }
    CHECK(client.renew(dead.hold).verdict == RenewVerdict::lost);
    CHECK(client.release(dead.hold) == ReleaseVerdict::not_held);
    CHECK(client.renew(two).verdict == RenewVerdict::renewed);
    CHECK(client.inspect(name).owner_count == 3);
  });
}

TEST_CASE("slots: a claim in another mode is told when the last of their leases ends") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    if (!has_slots(backing)) return;
    Client client(backing);
    const LockName name = fresh_name();
    client.take(claim_slot(2, name, 20s));
    client.take(claim_slot(2, name, 90s));
    CHECK(client.must_be_busy(claim_of(name)).holding.lease_left.within().value() > 20s);
    CHECK(client.must_be_busy(writer(name)).holding.lease_left.within().value() > 20s);
    CHECK(client.inspect(name).lease_left.within().value() <= 20s);
  });
}

TEST_CASE("slots: renewing one lease extends no other") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    if (!has_slots(backing)) return;
    Client client(backing);
    const LockName name = fresh_name();
    Hold one = client.take(claim_slot(2, name, 20s)).hold;
    const Hold two = client.take(claim_slot(2, name, 20s)).hold;
    one.ttl = 90s;
    CHECK(client.renew(one).verdict == RenewVerdict::renewed);
    for (const Holding::Owner& owner : client.inspect(name).owners) {
      REQUIRE(owner.lease_left.within().has_value());
      CHECK((*owner.lease_left.within() > 60s) == (owner.id == one.owner));
    }
    CHECK(client.inspect(name).lease_left.within().value() <= 20s);
    CHECK(client.release(two) == ReleaseVerdict::released);
    CHECK(client.inspect(name).lease_left.within().value() > 60s);
  });
}

TEST_CASE("slots: a nested run shares its ancestor's slot") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.take(claim_slot(2, name));
    const Hold outer = client.take(claim_slot(2, name)).hold;
    const Hold inner = client.take(below(outer, claim_slot(2, name))).hold;
    CHECK(inner.nested);
    CHECK(inner.slot == 1U);
    CHECK(inner.token == outer.token);
    CHECK(client.inspect(name).owner_count == 2);
    CHECK(client.release(outer) == ReleaseVerdict::still_held);
    client.must_be_busy(claim_slot(2, name));
    CHECK(client.release(inner) == ReleaseVerdict::released);
    CHECK(client.take(claim_slot(2, name)).hold.slot == 1U);
  });
}

TEST_CASE("slots: a nested claim that would wait for its ancestor is refused as a deadlock") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold slot = client.take(claim_slot(3, name)).hold;
    for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared}) {
      const Refusal refusal = client.must_be_busy(below(slot, claim_as(mode, name)));
      CHECK(refusal.by_ancestor);
      CHECK(refusal.holding.mode == Mode::slots);
      CHECK(refusal.holding.slots == 3);
      const LockName other = fresh_name();
      const Hold outer = client.take(claim_as(mode, other)).hold;
      CHECK(client.must_be_busy(below(outer, claim_slot(3, other))).by_ancestor);
    }
    CHECK(client.must_be_busy(below(slot, claim_slot(4, name))).by_ancestor);
    CHECK(client.inspect(name).holds.size() == 1);
  });
}

TEST_CASE("slots: a waiter is woken when any slot is released") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    for (const std::size_t which : {0U, 1U, 2U}) {
      Client holder(backing);
      Client waiter(backing);
      const LockName name = fresh_name();
      const auto holds = take_all(holder, name, 3);
      Claim claim = claim_slot(3, name);
      waiter.wait_in_line();
      waiter.watch(claim);
      waiter.must_be_busy(claim);
      CHECK(holder.release(holds[which]) == ReleaseVerdict::released);
      REQUIRE(waiter.await_hand_off(soon()) != HandOff::timed_out);
      CHECK(waiter.take_eventually(claim).hold.slot == which);
    }
  });
}

TEST_CASE("slots: a revocation notifies all holders, or only the named one") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const auto holds = take_all(client, name, 2);
    RevokeOrder order{.by = "bob@ops", .now = true, .if_owner = holds[0].owner, .if_token = {}};
    CHECK(client.revoke(name, order).verdict == RevokeVerdict::deleted);
    CHECK(client.renew(holds[0]).verdict == RenewVerdict::lost);
    CHECK(client.renew(holds[1]).verdict == RenewVerdict::renewed);
    const Hold next = client.take(claim_slot(2, name)).hold;
    CHECK(next.slot == 0U);
    order = {.by = "bob@ops", .now = false, .if_owner = {}, .if_token = {}};
    CHECK(client.revoke(name, order).verdict == RevokeVerdict::revoked);
    CHECK(client.renew(next).verdict == RenewVerdict::revoked);
    CHECK(client.renew(holds[1]).verdict == RenewVerdict::revoked);
    client.must_be_busy(claim_slot(2, name));
  });
}

TEST_CASE("slots: undoing a claim releases its slot") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Claim claim = claim_slot(1, name);
    client.take(claim);
    client.undo(claim);
    client.take(claim_slot(1, name));
  });
}

}  // namespace dlock::contract
