// SPDX-License-Identifier: MIT
// A claim of several names: all of them or none.
#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

struct Pair {
  LockName a = fresh_name("a");
  LockName b = fresh_name("b");
  std::vector<LockName> names() const { return {a, b}; }
};

bool is_free(Client& client, const Pair& pair) {
  return is_free(client, pair.a) && is_free(client, pair.b);
}

}  // namespace

TEST_CASE("several names: one claim takes them all, with a token for each") {
  each_store([](const Backing& backing) {
    Client client(backing);
    std::vector<LockName> names;
    std::set<std::string> texts;
    for (int i = 0; i < 16; ++i) {
      names.push_back(fresh_name());
      texts.insert(names.back().text());
    }
    std::reverse(names.begin() + 3, names.end());
    const Taken taken = client.take(claim_of(names));
    for (const Hold& hold : taken.holds) {
      CHECK(hold.token > 0);
      CHECK_FALSE(hold.nested);
      CHECK(hold.owner == taken.hold.owner);
      const Holding holding = client.inspect(hold.name);
      REQUIRE(holding.holds.size() == 1);
      CHECK(holding.holds[0].token == hold.token);
      CHECK(holding.holds[0].id == hold_id(hold.owner, hold.serial));
      CHECK(holding.lease_left.within().value() > 20s);
    }
    CHECK(client.release(taken.holds) == ReleaseVerdict::released);
    for (const LockName& name : names)
      CHECK(is_free(client, name));
    CHECK(client.release(taken.holds) == ReleaseVerdict::not_held);
  });
}

TEST_CASE(
    "several names: while one is taken none is granted, and the refusal names the one in the way") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client other(backing);
    const Pair pair;
    for (const std::size_t held : {0U, 1U}) {
      const Hold hold = holder.take(pair.names()[held]).hold;
      const Refusal refusal = other.must_be_busy(claim_of(pair.names()));
      CHECK(refusal.which == held);
      const Holding& holding = refusal.holding;
      CHECK(holding.kind == Holding::Kind::lock);
      REQUIRE(holding.owners.size() == 1);
      CHECK(holding.owners[0].id == hold.owner);
      CHECK(is_free(other, pair.names()[1 - held]));
      CHECK(holder.release(hold) == ReleaseVerdict::released);
    }
    const Taken taken = other.take(claim_of(pair.names()));
    holder.must_be_busy(claim_of(pair.a));
    holder.must_be_busy(claim_of(pair.b));
    CHECK(holder.must_be_busy(claim_of({pair.b, pair.a})).which == 0);
    CHECK(other.release(taken.holds) == ReleaseVerdict::released);
    holder.take(claim_of({pair.b, pair.a}));
  });
}

TEST_CASE("several names: a claim that is repeated counts once for each") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    const Claim claim = claim_of(pair.names());
    const Taken first = client.take(claim);
    const Taken again = client.take(claim);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(again.holds[i].token == first.holds[i].token);
      CHECK(client.inspect(pair.names()[i]).owners[0].count == "1");
    }
    CHECK(client.release(again.holds) == ReleaseVerdict::released);
    CHECK(is_free(client, pair));
  });
}

TEST_CASE("several names: one renewal extends every lease, and a check extends none") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    Holds holds = client.take(claim_of(pair.names(), 5s)).holds;
    for (Hold& hold : holds)
      hold.ttl = 60s;
    CHECK(client.check(holds).verdict == RenewVerdict::held);
    for (const LockName& name : pair.names())
      CHECK(client.inspect(name).lease_left.within().value() <= 5s);
    const Time before = BootClock::now();
    const RenewReply reply = client.renew(holds);
    CHECK(reply.verdict == RenewVerdict::renewed);
    CHECK(reply.sent_at >= before);
    for (const LockName& name : pair.names())
      CHECK(client.inspect(name).lease_left.within().value() > 40s);
  });
}

TEST_CASE("several names: the loss of one name is a loss, and the others can be released (1878)") {
  each_store([](const Backing& backing) {
    for (const std::size_t lost : {0U, 1U}) {
      Client client(backing);
      Client admin(backing);
      const Pair pair;
      const Holds holds = client.take(claim_of(pair.names())).holds;
      const LockName gone = pair.names()[lost];
      const LockName left = pair.names()[1 - lost];
      CHECK(admin.revoke(gone, order(true)).verdict == RevokeVerdict::deleted);
      const Hold theirs = admin.take(gone).hold;
      CHECK(client.check(holds).verdict == RenewVerdict::lost);
      const RenewReply reply = client.renew(holds);
      CHECK(reply.verdict == RenewVerdict::lost);
      CHECK(reply.some_left);
      CHECK(reply.which == lost);
      CHECK(reply.holding.owners.at(0).id == theirs.owner);
      CHECK_FALSE(is_free(admin, left));
      CHECK(client.release(holds) == ReleaseVerdict::not_held);
      CHECK(is_free(admin, left));
      CHECK(admin.renew(theirs).verdict == RenewVerdict::renewed);
    }
  });
}

TEST_CASE("several names: when all are lost, a renewal brings none back") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    const Holds holds = client.take(claim_of(pair.names(), 200ms)).holds;
    CHECK(eventually([&] { return is_free(client, pair); }));
    CHECK(client.renew(holds).verdict == RenewVerdict::lost);
    CHECK(is_free(client, pair));
    CHECK(client.release(holds) == ReleaseVerdict::not_held);
  });
}

TEST_CASE("several names: the revocation of one name revokes the claim") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    Holds holds = client.take(claim_of(pair.names(), 10s)).holds;
    CHECK(client.revoke(pair.b, order()).verdict == RevokeVerdict::revoked);
    CHECK(client.check(holds).verdict == RenewVerdict::revoked);
    const RenewReply reply = client.renew(holds);
    CHECK(reply.verdict == RenewVerdict::revoked);
    CHECK(reply.revoked_by == "bob@ops");
    CHECK(reply.which == 1);
    CHECK_FALSE(reply.some_left);
    CHECK(client.release(holds) == ReleaseVerdict::released);
    CHECK(is_free(client, pair));
  });
}

TEST_CASE("several names: a renewal that is refused for one of them extends none") {
  each_store([](const Backing& backing) {
    Client client(backing);
    for (const Mode mode : {Mode::plain, Mode::shared}) {
      const Pair pair;
      Claim claim = claim_of(pair.names(), 20s);
      claim.mode = mode;
      Holds holds = client.take(claim).holds;
      for (Hold& hold : holds)
        hold.ttl = 90s;
      client.revoke(pair.b, order());
      CHECK(client.renew(holds).verdict == RenewVerdict::revoked);
      CHECK(client.inspect(pair.a).lease_left.within().value() <= 20s);
      client.revoke(pair.b, order(true));
      CHECK(client.renew(holds).verdict == RenewVerdict::lost);
      CHECK(client.inspect(pair.a).lease_left.within().value() <= 20s);
    }
  });
}

TEST_CASE("several names: a renewal reports a loss rather than a revocation") {
  each_store([](const Backing& backing) {
    for (const bool first : {true, false}) {
      Client client(backing);
      const Pair pair;
      const Holds holds = client.take(claim_of(pair.names())).holds;
      CHECK(client.revoke(pair.a, order(first)).verdict ==
            (first ? RevokeVerdict::deleted : RevokeVerdict::revoked));
      CHECK(client.revoke(pair.b, order(!first)).verdict ==
            (first ? RevokeVerdict::revoked : RevokeVerdict::deleted));
      CHECK(client.check(holds).verdict == RenewVerdict::lost);
      CHECK(client.renew(holds).verdict == RenewVerdict::lost);
    }
  });
}

TEST_CASE(
    "several names: below a hold of one name the claim joins that hold and takes the other names") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    const Hold outer = client.take(pair.a).hold;
    const Taken inner = client.take(below(outer, claim_of(pair.names())));
    CHECK(inner.holds[0].nested);
    CHECK(inner.holds[0].owner == outer.owner);
    CHECK(inner.holds[0].token == outer.token);
    CHECK_FALSE(inner.holds[1].nested);
    CHECK(inner.holds[1].owner != outer.owner);
    CHECK(client.renew(inner.holds).verdict == RenewVerdict::renewed);
    client.must_be_busy(claim_of(pair.b));
    CHECK(client.release(inner.holds) == ReleaseVerdict::still_held);
    CHECK(is_free(client, pair.b));
    CHECK(client.inspect(pair.a).owners[0].count == "1");
    CHECK(client.release(outer) == ReleaseVerdict::released);
  });
}

TEST_CASE("several names: a nested claim that would deadlock is refused with the name in the way") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    const Hold outer = client.take(claim_as(Mode::shared, pair.b)).hold;
    const Refusal refusal = client.must_be_busy(below(outer, claim_of(pair.names())));
    CHECK(refusal.by_ancestor);
    CHECK(refusal.which == 1);
    CHECK(is_free(client, pair.a));
  });
}

TEST_CASE("several names: of several that ancestors hold, the first is reported") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    Claim readers = claim_of(pair.names());
    readers.mode = Mode::shared;
    const Holds outer = client.take(readers).holds;
    const LockName busy = fresh_name();
    client.take(busy);
    Claim claim = claim_of({busy, pair.a, pair.b});
    for (const Hold& hold : outer)
      claim.ancestors.push_back(ancestor_of(hold));
    const Refusal refusal = client.must_be_busy(claim);
    CHECK(refusal.by_ancestor);
    CHECK(refusal.which == 1);
  });
}

TEST_CASE("several names: readers and slots share several names as they share one") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    Claim readers = claim_of(pair.names());
    readers.mode = Mode::shared;
    const Holds one = client.take(readers).holds;
    const Holds two = client.take(below(one[0], claim_as(Mode::shared, pair.a))).holds;
    client.take(claim_as(Mode::shared, pair.b));
    CHECK(client.must_be_busy(claim_of(pair.names())).which == 0);
    CHECK(client.release(two) == ReleaseVerdict::still_held);
    CHECK(client.release(one) == ReleaseVerdict::released);
    CHECK(client.must_be_busy(claim_of(pair.names())).which == 1);

    if (!has_slots(backing)) return;
    const Pair other;
    client.take(claim_slot(2, other.b));
    Claim slots = claim_of(other.names());
    slots.mode = Mode::slots;
    slots.slots = 2;
    const Holds both = client.take(slots).holds;
    CHECK(both[0].slot == 0U);
    CHECK(both[1].slot == 1U);
    slots.serial = make_hold_serial();
    slots.owner = make_owner_id(1);
    CHECK(client.must_be_busy(slots).which == 1);
    slots.slots = 3;
    CHECK(client.must_be_busy(slots).which == 0);
    CHECK(client.inspect(other.a).owner_count == 1);
  });
}

TEST_CASE("several names: undoing releases all of them, and leaves the holds of others alone") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const Pair pair;
    const Claim claim = claim_of(pair.names());
    client.undo(claim);
    client.take(claim);
    client.undo(claim);
    CHECK(is_free(client, pair));
    client.take(pair.b);
    client.undo(claim);
    CHECK_FALSE(is_free(client, pair.b));
  });
}

TEST_CASE("several names: a waiter is woken by the release of the name that was in the way") {
  each_store([](const Backing& backing) {
    for (const std::size_t held : {0U, 1U}) {
      Client holder(backing);
      Client waiter(backing);
      const Pair pair;
      const Hold hold = holder.take(pair.names()[held]).hold;
      Claim claim = claim_of(pair.names());
      waiter.wait_in_line();
      waiter.watch(claim);
      waiter.must_be_busy(claim);
      CHECK(holder.release(hold) == ReleaseVerdict::released);
      CHECK(waiter.await_hand_off(soon()) != HandOff::timed_out);
      waiter.take_eventually(claim);
    }
  });
}

TEST_CASE("several names: a waiter gets all names when the last of their holders has released") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const Pair pair;
    const Hold one = holder.take(pair.a).hold;
    const Hold two = holder.take(pair.b).hold;
    Claim claim = claim_of(pair.names());
    waiter.wait_in_line();
    waiter.watch(claim);
    CHECK(waiter.must_be_busy(claim).which == 0);
    CHECK(holder.release(one) == ReleaseVerdict::released);
    CHECK(waiter.must_be_busy(claim).which == 1);
    CHECK(is_free(holder, pair.a));
    CHECK(holder.release(two) == ReleaseVerdict::released);
    CHECK(waiter.await_hand_off(soon()) != HandOff::timed_out);
    waiter.take_eventually(claim);
  });
}

TEST_CASE("several names: a holder is notified when any of its names is deleted") {
  each_store([](const Backing& backing) {
    for (const bool now : {false, true}) {
      Client client(backing);
      Client admin(backing);
      const Pair pair;
      const Holds holds = client.take(claim_of(pair.names())).holds;
      client.watch_hold(holds);
      CHECK(client.check(holds).verdict == RenewVerdict::held);
      CHECK(admin.revoke(pair.b, order(now)).verdict ==
            (now ? RevokeVerdict::deleted : RevokeVerdict::revoked));
      CHECK(client.await_hand_off(soon()) == HandOff::changed);
      CHECK(client.check(holds).verdict == (now ? RenewVerdict::lost : RenewVerdict::revoked));
    }
  });
}

}  // namespace dlock::contract
