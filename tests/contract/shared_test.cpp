// SPDX-License-Identifier: MIT
// Readers and writers. Numbers in brackets are reports of Redisson's users about the same.
#include <array>
#include <utility>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

TEST_CASE("shared: readers hold a name together, each with a hold and a lease of its own") {
  each_store([](const Backing& backing) {
    Client one(backing);
    Client two(backing);
    const LockName name = fresh_name();
    const Hold first = one.take(reader(name, 30s)).hold;
    const Hold second = two.take(reader(name, 60s)).hold;
    CHECK(first.mode == Mode::shared);
    CHECK(second.token > first.token);
    CHECK_FALSE(second.nested);
    const Holding holding = one.inspect(name);
    CHECK(holding.kind == Holding::Kind::lock);
    CHECK(holding.mode == Mode::shared);
    CHECK(holding.slots == 0);
    CHECK(holding.owner_count == 2);
    REQUIRE(holding.holds.size() == 2);
    for (const HoldRecord& record : holding.holds) {
      CHECK(record.mode == Mode::shared);
      CHECK_FALSE(record.slot.has_value());
      CHECK_FALSE(record.kept);
    }
    CHECK(lease_of(holding, first.owner) > 20s);
    CHECK(lease_of(holding, first.owner) <= 30s);
    CHECK(lease_of(holding, second.owner) > 50s);
    CHECK(holding.lease_left.within().value() > 50s);  // all must end before a writer has room
  });
}

TEST_CASE("shared: a plain holder and readers exclude each other, in either order") {
  each_store([](const Backing& backing) {
    for (const Mode held : k_alone_or_shared) {
      for (const Mode claimed : k_alone_or_shared) {
        CAPTURE(static_cast<int>(held));
        CAPTURE(static_cast<int>(claimed));
        Client holder(backing);
        Client other(backing);
        const LockName name = fresh_name();
        const Hold hold = holder.take(claim_as(held, name)).hold;
        CHECK(hold.mode == held);
        if (held == Mode::shared && claimed == Mode::shared) {
          other.take(claim_as(claimed, name));
          continue;
        }
        const Refusal refusal = other.must_be_busy(claim_as(claimed, name));
        CHECK_FALSE(refusal.by_ancestor);
        CHECK(refusal.holding.mode == held);
        CHECK(refusal.holding.owner_count == 1);
        CHECK(holder.renew(hold).verdict == RenewVerdict::renewed);
        CHECK(holder.release(hold) == ReleaseVerdict::released);
        CHECK(other.take(claim_as(claimed, name)).hold.token > hold.token);
      }
    }
  });
}

TEST_CASE("shared: a writer enters when the last reader has left, in whatever order they leave") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    Holds holds;
    for (int i = 0; i < 3; ++i)
      holds.push_back(client.take(reader(name)).hold);
    std::swap(holds[0], holds[1]);
    for (std::size_t i = 0; i < holds.size(); ++i) {
      client.must_be_busy(writer(name));
      CHECK(client.inspect(name).owner_count == holds.size() - i);
      CHECK(client.release(holds[i]) == ReleaseVerdict::released);
      CHECK(client.release(holds[i]) == ReleaseVerdict::not_held);
    }
    CHECK(client.inspect(name).kind == Holding::Kind::none);
    client.take(writer(name));
  });
}

TEST_CASE("shared: a repeated claim of a reader counts once") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.take(reader(name));
    const Claim claim = reader(name);
    const Hold hold = client.take(claim).hold;
    CHECK(client.take(claim).hold.token == hold.token);
    CHECK(client.inspect(name).owner_count == 2);
    CHECK(client.inspect(name).holds.size() == 2);
    CHECK(client.release(hold) == ReleaseVerdict::released);
    CHECK(client.inspect(name).owner_count == 1);
  });
}

TEST_CASE(
    "shared: renewing extends the reader's own lease and no other, and shortens none (1604, "
    "5462)") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    Hold one = client.take(reader(name, 20s)).hold;
    const Hold two = client.take(reader(name, 40s)).hold;
    one.ttl = 90s;
    CHECK(client.renew(one).verdict == RenewVerdict::renewed);
    CHECK(lease_of(client.inspect(name), one.owner) > 60s);
    CHECK(lease_of(client.inspect(name), two.owner) > 20s);
    CHECK(lease_of(client.inspect(name), two.owner) <= 40s);
    one.ttl = 1s;
    CHECK(client.renew(one).verdict == RenewVerdict::renewed);
    CHECK(lease_of(client.inspect(name), one.owner) > 60s);
    CHECK(lease_of(client.inspect(name), two.owner) > 20s);
    CHECK(client.release(one) == ReleaseVerdict::released);
    CHECK(lease_of(client.inspect(name), two.owner) > 20s);
    CHECK(client.inspect(name).lease_left.within().value() > 20s);
  });
}

TEST_CASE(
    "shared: the hold of a dead reader ends with its own lease while others renew (1458, 7098)") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold dead = client.take(reader(name, 300ms)).hold;
    const Hold other = client.take(reader(name)).hold;
    CHECK(client.renew(other).verdict == RenewVerdict::renewed);
    CHECK(eventually([&] { return client.inspect(name).owner_count == 1; }));
    CHECK(client.renew(dead).verdict == RenewVerdict::lost);
    CHECK(client.renew(dead).holding.owners.at(0).id == other.owner);
    CHECK(client.check(dead).verdict == RenewVerdict::lost);
    CHECK(client.release(dead) == ReleaseVerdict::not_held);
    CHECK(client.inspect(name).owner_count == 1);
    const Hold late = client.take(reader(name)).hold;
    CHECK(client.release(other) == ReleaseVerdict::released);
    client.must_be_busy(writer(name));
    CHECK(client.release(late) == ReleaseVerdict::released);
    client.take(writer(name));
  });
}

TEST_CASE("shared: a writer enters after the lease of a dead last reader, and not before") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken dead = client.take(reader(name, 500ms));
    const Taken next = client.take_eventually(writer(name));
    CHECK(BootClock::now() >= dead.sent_at + 500ms);
    CHECK(next.hold.token > dead.hold.token);
    CHECK(client.renew(dead.hold).verdict == RenewVerdict::lost);
  });
}

TEST_CASE("shared: a waiter is woken by a release between its refusal and its wait (3891)") {
  each_store([](const Backing& backing) {
    for (const Mode held : {Mode::exclusive, Mode::shared}) {
      Client holder(backing);
      Client waiter(backing);
      const LockName name = fresh_name();
      const Hold hold = holder.take(claim_as(held, name)).hold;
      Claim claim = claim_as(held == Mode::exclusive ? Mode::shared : Mode::exclusive, name);
      waiter.wait_in_line();
      waiter.watch(claim);
      waiter.must_be_busy(claim);
      CHECK(holder.release(hold) == ReleaseVerdict::released);
      CHECK(waiter.await_hand_off(soon()) != HandOff::timed_out);
      waiter.take_eventually(claim);
    }
  });
}

TEST_CASE("shared: a writer that waits is woken by the last reader") {
  each_store([](const Backing& backing) {
    Client one(backing);
    Client two(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    const Hold first = one.take(reader(name)).hold;
    const Hold second = two.take(reader(name)).hold;
    Claim claim = writer(name);
    waiter.wait_in_line();
    waiter.watch(claim);
    waiter.must_be_busy(claim);
    CHECK(one.release(first) == ReleaseVerdict::released);
    waiter.must_be_busy(claim);
    CHECK(two.release(second) == ReleaseVerdict::released);
    CHECK(waiter.await_hand_off(soon()) != HandOff::timed_out);
    waiter.take_eventually(claim);
  });
}

TEST_CASE("shared: a revocation notifies every reader, or only the named one") {
  each_store([](const Backing& backing) {
    for (const bool by_token : {false, true}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold one = client.take(reader(name)).hold;
      const Hold two = client.take(reader(name)).hold;
      RevokeOrder only = order();
      if (by_token)
        only.if_token = two.token;
      else
        only.if_owner = two.owner;
      CHECK(client.revoke(name, only).verdict == RevokeVerdict::revoked);
      CHECK(client.renew(one).verdict == RenewVerdict::renewed);
      CHECK(client.renew(two).verdict == RenewVerdict::revoked);
      CHECK(client.check(two).revoked_by == "bob@ops");
      CHECK(client.inspect(name).revoked_by == "bob@ops");
      CHECK(client.revoke(name, order()).verdict == RevokeVerdict::revoked);
      CHECK(client.renew(one).verdict == RenewVerdict::revoked);
      CHECK(client.release(two) == ReleaseVerdict::released);
      CHECK(client.renew(one).verdict == RenewVerdict::revoked);
      CHECK(client.release(one) == ReleaseVerdict::released);
      CHECK(client.renew(client.take(reader(name)).hold).verdict == RenewVerdict::renewed);
    }
  });
}

TEST_CASE("shared: force-release --now deletes every reader, or only the named one") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold one = client.take(reader(name)).hold;
    const Hold two = client.take(reader(name)).hold;
    RevokeOrder only = order(true);
    only.if_owner = make_owner_id(1);
    CHECK(client.revoke(name, only).verdict == RevokeVerdict::other_holder);
    only.if_owner = two.owner;
    CHECK(client.revoke(name, only).verdict == RevokeVerdict::deleted);
    CHECK(client.renew(two).verdict == RenewVerdict::lost);
    CHECK(client.renew(one).verdict == RenewVerdict::renewed);
    CHECK(client.revoke(name, order(true)).verdict == RevokeVerdict::deleted);
    CHECK(client.renew(one).verdict == RenewVerdict::lost);
    CHECK(client.inspect(name).kind == Holding::Kind::none);
  });
}

TEST_CASE("shared: a reader learns of its own revocation beside other readers") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client admin(backing);
    const LockName name = fresh_name();
    admin.take(reader(name));
    const Hold hold = client.take(reader(name)).hold;
    client.watch_hold(hold);
    CHECK(client.check(hold).verdict == RenewVerdict::held);
    RevokeOrder only = order();
    only.if_owner = hold.owner;
    CHECK(admin.revoke(name, only).verdict == RevokeVerdict::revoked);
    CHECK(client.await_hand_off(soon()) == HandOff::changed);
    CHECK(client.check(hold).verdict == RenewVerdict::revoked);
  });
}

TEST_CASE("shared: of very many readers all are counted, and not all are listed") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    for (int i = 0; i < 70; ++i)
      client.take(reader(name));
    const Holding holding = client.must_be_busy(writer(name)).holding;
    CHECK(holding.owner_count == 70);
    CHECK(holding.owners.size() <= 64);
    CHECK(holding.mode == Mode::shared);
  });
}

}  // namespace dlock::contract
