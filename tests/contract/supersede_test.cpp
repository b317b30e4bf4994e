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
