// SPDX-License-Identifier: MIT
// --supersede: a later claim ends earlier ones that wait, and a holder, if they said so, too.
#include "contract/in_line.hpp"
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

Claim superseding(Claim claim, Supersede what = Supersede::waiting) {
  claim.who.supersede = what;
  return claim;
}

Claim from_host(const std::string& host, Claim claim) {
  claim.who.host = host;
  return claim;
}

void each_superseding(const Body& body) {
  each_store_with(&StoreTraits::supersede, body);
}

// Checks that the waiter is out of the line, in favour of the waiter on `host`.
void check_superseded(InLine& waiter, const std::string& host) {
  const Refusal refusal = waiter.client.must_be_busy(waiter.claim);
  REQUIRE(refusal.superseded_by.has_value());
  CHECK(refusal.superseded_by->host == host);
  CHECK(refusal.place == 0);
}

}  // namespace

TEST_CASE("supersede: a later claim ends those that wait and said so, and no other") {
  each_superseding([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine old(backing, superseding(claim_of(name)));
    InLine other(backing, name);
    CHECK(old.refused() == 1);
    InLine middle(backing, superseding(claim_of(name)));
    InLine newest(backing, superseding(from_host("newest", claim_of(name))));
    CHECK(newest.refused() == 4);
    check_superseded(old, "newest");
    check_superseded(middle, "newest");
    CHECK(other.refused() == 1);
    CHECK(newest.refused() == 2);
    CHECK(holder.check(hold).verdict == RenewVerdict::held);
    CHECK(holder.inspect(name).waiting == 2);
  });
}

TEST_CASE("supersede: a claim whose turn has come makes way for a later one") {
  each_superseding([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine old(backing, superseding(claim_of(name)));
    InLine newest(backing, superseding(from_host("newest", claim_of(name))));
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(hears_its_turn(old));
    check_superseded(old, "newest");
    CHECK(hears_its_turn(newest));
    newest.enter();
  });
}

TEST_CASE("supersede: a claim that was granted is not superseded, nor when it is repeated") {
  each_superseding([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Claim claim = superseding(claim_of(name));
    const Hold hold = holder.take(claim).hold;
    InLine newest(backing, superseding(claim_of(name)));
    CHECK(holder.take(claim).hold.token == hold.token);
    CHECK(holder.renew(hold).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("supersede: a claim of several names leaves all their lines") {
  each_superseding([](const Backing& backing) {
    const LockName one = fresh_name();
    const LockName two = fresh_name();
    Client holder(backing);
    holder.take(one);
    holder.take(two);
    Claim both = superseding(claim_of(one));
    both.names.push_back(two);
    InLine old(backing, both);
    InLine newest(backing, superseding(from_host("newest", claim_of(two))));
    check_superseded(old, "newest");
    CHECK(holder.inspect(one).waiting == 0);
    CHECK(holder.inspect(two).waiting == 1);
  });
}

TEST_CASE("supersede: with holder, a holder that said holder is revoked, and no other") {
  each_superseding([](const Backing& backing) {
    for (const Supersede held : {Supersede::nothing, Supersede::waiting, Supersede::holder}) {
      for (const Supersede asked : {Supersede::nothing, Supersede::waiting, Supersede::holder}) {
        const LockName name = fresh_name();
        Client holder(backing);
        const Hold hold = holder.take(superseding(claim_of(name), held)).hold;
        InLine newest(backing, superseding(claim_of(name), asked));
        CHECK(newest.refused() == 1);
        const RenewReply reply = holder.renew(hold);
        if (held == Supersede::holder && asked == Supersede::holder) {
          CHECK(reply.verdict == RenewVerdict::revoked);
          CHECK(reply.revoked_by == "alice@db1 (--supersede)");
        } else {
          CHECK(reply.verdict == RenewVerdict::renewed);
        }
        CHECK(newest.refused() == 1);  // the holder still has the lock
        CHECK(holder.release(hold) == ReleaseVerdict::released);
        CHECK(hears_its_turn(newest));
        newest.enter();
      }
    }
  });
}

TEST_CASE("supersede: a holder hears that it is revoked, also by a claim that has waited before") {
  each_superseding([](const Backing& backing) {
    const LockName taken = fresh_name();
    const LockName name = fresh_name();
    Client other(backing);
    Client holder(backing);
    const Hold before = other.take(taken).hold;
    const Hold hold = holder.take(superseding(claim_of(name), Supersede::holder)).hold;
    InLine newest(backing, superseding(claim_of({taken, name}), Supersede::holder));
    CHECK(other.release(before) == ReleaseVerdict::released);
    holder.watch_hold(hold);
    CHECK(holder.check(hold).verdict == RenewVerdict::held);
    CHECK(newest.refused() == 1);
    CHECK(holder.await_hand_off(soon()) == HandOff::changed);
    CHECK(holder.check(hold).verdict == RenewVerdict::revoked);
  });
}

TEST_CASE("supersede: a claim that does not wait revokes no holder") {
  each_superseding([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    Client other(backing);
    const Hold hold = holder.take(superseding(claim_of(name), Supersede::holder)).hold;
    other.must_be_busy(superseding(claim_of(name), Supersede::holder));
    CHECK(holder.renew(hold).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("supersede: while a name is frozen its holder goes on, and is revoked afterwards") {
  each_superseding([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(superseding(claim_of(name), Supersede::holder)).hold;
    const FreezeOrder order{.owner = "f:1", .who = some_holder(), .lasts = 60s};
    REQUIRE(holder.store().freeze(name, order, soon()).has_value());
    InLine newest(backing, superseding(claim_of(name), Supersede::holder));
    CHECK(newest.refused() == 1);
    CHECK(holder.renew(hold).verdict == RenewVerdict::renewed);
    REQUIRE(holder.store().unfreeze(name, soon()).has_value());
    CHECK(newest.refused() == 1);
    CHECK(holder.renew(hold).verdict == RenewVerdict::revoked);
  });
}

// As after a time in which the store has not heard from it, such as a suspend.
TEST_CASE("supersede: a claim that has lost its place makes way for what came after it") {
  each_superseding([](const Backing& backing) {
    for (const Supersede what : {Supersede::waiting, Supersede::holder}) {
      for (const bool holds : {false, true}) {
        const LockName name = fresh_name();
        Client first(backing);
        const Hold hold = first.take(name).hold;
        InLine old(backing, superseding(claim_of(name), what));
        const Refusal refusal = old.client.must_be_busy(old.claim);
        REQUIRE(refusal.holding.now_ms > 0);
        old.claim.who.came_ms = refusal.holding.now_ms - 1;  // the store counts whole ms
        old.client.leave(old.claim);
        InLine newest(backing, superseding(from_host("newest", claim_of(name)), what));
        CHECK(newest.refused() == 1);
        if (holds) {
          CHECK(first.release(hold) == ReleaseVerdict::released);
          const Hold its = newest.enter().hold;
          check_superseded(old, "newest");
          CHECK(newest.client.renew(its).verdict == RenewVerdict::renewed);
        } else {
          check_superseded(old, "newest");
          CHECK(newest.refused() == 1);
        }
      }
    }
  });
}

TEST_CASE("supersede: a claim that came after the holder did is the newest") {
  each_superseding([](const Backing& backing) {
    const LockName name = fresh_name();
    Client first(backing);
    const Hold before = first.take(name).hold;
    InLine holder(backing, superseding(claim_of(name), Supersede::holder));
    holder.claim.who.came_ms = holder.client.must_be_busy(holder.claim).holding.now_ms - 1;
    Client newest = in_line(backing);
    Claim claim = superseding(claim_of(name), Supersede::holder);
    claim.who.came_ms = newest.inspect(name).now_ms;
    CHECK(first.release(before) == ReleaseVerdict::released);
    const Hold hold = holder.enter().hold;  // granted after the newest came
    CHECK_FALSE(newest.must_be_busy(claim).superseded_by.has_value());
    CHECK(holder.client.renew(hold).verdict == RenewVerdict::revoked);
  });
}

TEST_CASE("supersede: a kept lock is not revoked") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client holder(backing);
    if (!holder.store().traits().supersede) return;
    const LockName name = fresh_name();
    const Hold hold = holder.take(superseding(claim_of(name), Supersede::holder)).hold;
    CHECK(holder.release({hold}, {.keep = 60s}) == ReleaseVerdict::released);
    InLine newest(backing, superseding(claim_of(name), Supersede::holder));
    CHECK(newest.refused() == 1);
    CHECK(holder.inspect(name).revoked_by.empty());
  });
}

}  // namespace dlock::contract
