// SPDX-License-Identifier: MIT
// What outlives a run: names that stay taken for a while, and the record of its success.
#include <array>
#include <variant>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

Claim once_per(Duration time, Claim claim) {
  claim.once_per = time;
  return claim;
}

// Acquires the name and releases it as a successful run does.
void succeed(Client& client, const LockName& name, Duration tell_for = 1h) {
  const Hold hold = client.take(name).hold;
  CHECK(client.release(hold, {.tell_for = tell_for}) == ReleaseVerdict::released);
}

}  // namespace

TEST_CASE(
    "keep: a kept lock has no holder, refuses every claim, and is free when its time is over") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    Holds kept;
    Time before;
    for (const Mode mode : k_alone_or_shared) {
      kept.push_back(client.take(claim_as(mode, fresh_name())).hold);
      before = BootClock::now();
      CHECK(client.release(kept.back(), {.keep = 1s}) == ReleaseVerdict::released);
    }
    for (const Hold& hold : kept) {
      const AcquireReply reply = other.acquire(claim_of(hold.name));
      const auto* refusal = std::get_if<Refusal>(&reply);
      if (refusal == nullptr) {  // on a slow machine
        other.release(std::get<Grant>(reply).holds);
        continue;
      }
      const Holding* const holding = &refusal->holding;
      CHECK(holding->mode == hold.mode);
      CHECK(holding->lease_left.within().value() <= 1s);
      CHECK(holding->owner_count == 1);
      REQUIRE(holding->holds.size() == 1);
      CHECK(holding->holds[0].kept);
      CHECK(holding->holds[0].id == hold.owner + "#kept");
      CHECK(holding->holds[0].token == hold.token);
      CHECK(holding->holds[0].who.host == "db1");
      CHECK(holding->holds[0].since_ms == hold.since_ms);
    }
    const Hold& last = kept.back();
    if (client.inspect(last.name).kind == Holding::Kind::lock) {
      CHECK(other.take_eventually(claim_of(last.name)).hold.token > last.token);
    }
    CHECK(BootClock::now() + 10ms >= before + 1s);
    kept.pop_back();
    for (const Hold& hold : kept)
      CHECK(eventually([&] { return is_free(client, hold.name); }));
  });
}

TEST_CASE("keep: the release sets the rest of the lease to the time to keep, shorter or longer") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    for (const Duration ttl : {Duration(5s), Duration(90s)}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold hold = client.take(name, ttl).hold;
      CHECK(client.release(hold, {.keep = 40s}) == ReleaseVerdict::released);
      CHECK(client.inspect(name).lease_left.within().value() > 20s);
      CHECK(client.inspect(name).lease_left.within().value() <= 40s);
    }
  });
}

TEST_CASE("keep: a kept lock cannot be joined, renewed, released or lost") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Claim claim = claim_of(name);
    const Hold hold = client.take(claim).hold;
    CHECK(client.release(hold, {.keep = 20s}) == ReleaseVerdict::released);
    Hold forged = hold;
    forged.serial = "kept";
    for (const Hold& one : {hold, forged}) {
      client.must_be_busy(claim_below(one));
      CHECK(client.renew(one).verdict == RenewVerdict::lost);
      CHECK(client.check(one).verdict == RenewVerdict::lost);
      CHECK(client.release(one) == ReleaseVerdict::not_held);
    }
    client.must_be_busy(claim);  // a late copy
    CHECK(client.inspect(name).holds.size() == 1);
    CHECK(client.inspect(name).lease_left.within().value() <= 20s);
  });
}

TEST_CASE("keep: only the last hold of an owner is kept, and a nested hold never") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold outer = client.take(name).hold;
    const Hold inner = client.take(claim_below(outer)).hold;
    CHECK(client.release(inner, {.keep = 60s}) == ReleaseVerdict::still_held);
    CHECK(client.check(outer).verdict == RenewVerdict::held);
    const Hold late = client.take(claim_below(outer)).hold;
    CHECK(client.release(outer, {.keep = 60s}) == ReleaseVerdict::still_held);
    CHECK(client.release(late, {.keep = 60s}) == ReleaseVerdict::released);
    CHECK(is_free(client, name));
  });
}

TEST_CASE("keep: every revocation deletes a kept lock at once, as it has no holder") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(name).hold;
    CHECK(client.release(hold, {.keep = 60s}) == ReleaseVerdict::released);
    const RevokeOrder order{.by = "bob@ops", .now = false, .if_owner = {}, .if_token = {}};
    CHECK(client.revoke(name, order).verdict == RevokeVerdict::deleted);
    CHECK(is_free(client, name));
  });
}

TEST_CASE("keep: a revocation deletes kept holds, and notifies the holders that run") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    if (!has_slots(backing)) return;
    Client client(backing);
    const RevokeOrder order{.by = "bob@ops", .now = false, .if_owner = {}, .if_token = {}};
    for (const bool somebody_runs : {false, true}) {
      const LockName name = fresh_name();
      Holds holds;
      for (int i = 0; i < 3; ++i)
        holds.push_back(client.take(claim_slot(3, name)).hold);
      for (std::size_t i = somebody_runs ? 1 : 0; i < holds.size(); ++i)
        CHECK(client.release(holds[i], {.keep = 60s}) == ReleaseVerdict::released);
      CHECK(client.inspect(name).owner_count == 3);
      const auto verdict = client.revoke(name, order).verdict;
      CHECK(verdict == (somebody_runs ? RevokeVerdict::revoked : RevokeVerdict::deleted));
      CHECK(client.inspect(name).owner_count == (somebody_runs ? 1 : 0));
    }
  });
}

TEST_CASE("keep: what is kept after a revoked run is not revoked itself") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared}) {
      const Hold hold = client.take(claim_as(mode, fresh_name())).hold;
      CHECK(client.revoke(hold.name, order()).verdict == RevokeVerdict::revoked);
      CHECK(client.release(hold, {.keep = 20s}) == ReleaseVerdict::released);
      CHECK(client.inspect(hold.name).revoked_by.empty());
    }
  });
}

TEST_CASE("keep: a name kept by a reader admits readers and no writer; a kept slot is taken") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold read = client.take(claim_as(Mode::shared, name)).hold;
    CHECK(client.release(read, {.keep = 60s}) == ReleaseVerdict::released);
    const Hold other = client.take(claim_as(Mode::shared, name)).hold;
    CHECK(client.release(other) == ReleaseVerdict::released);
    client.must_be_busy(claim_as(Mode::exclusive, name));

    if (!has_slots(backing)) return;
    const LockName slots = fresh_name();
    const Hold slot = client.take(claim_slot(2, slots)).hold;
    CHECK(client.release(slot, {.keep = 60s}) == ReleaseVerdict::released);
    CHECK(client.take(claim_slot(2, slots)).hold.slot == 1U);
    const Holding holding = client.must_be_busy(claim_slot(2, slots)).holding;
    CHECK(holding.owner_count == 2);
    CHECK(holding.holds.size() == 2);
  });
}

TEST_CASE("keep: all names of a claim are kept") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    const Holds holds = client.take(claim_of({a, b})).holds;
    CHECK(client.release(holds, {.keep = 60s}) == ReleaseVerdict::released);
    client.must_be_busy(claim_of(a));
    client.must_be_busy(claim_of(b));
    CHECK(client.release(holds) == ReleaseVerdict::not_held);
  });
}

TEST_CASE(
    "once per: after a success the next claim is refused as done, whether the name is free or "
    "held") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    other.take(once_per(1h, claim_of(fresh_name())));  // other names have no record
    succeed(client, name);
    CHECK(other.must_be_done(once_per(1h, claim_of(name))) < 10s);
    CHECK(is_free(other, name));
    const Hold hold = client.take(name).hold;  // a claim without once_per is granted
    CHECK(other.must_be_done(once_per(1h, claim_of(name))) < 10s);
    CHECK(client.release(hold) == ReleaseVerdict::released);
    CHECK(other.must_be_done(once_per(1h, claim_of(name))) < 10s);
  });
}

TEST_CASE("once per: a failed run does not count as a success") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(once_per(1h, claim_of(name))).hold;
    CHECK(client.release(hold) == ReleaseVerdict::released);
    client.take(once_per(1h, claim_of(name)));
  });
}

TEST_CASE("once per: a success counts from its grant, and each claim has its own interval") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken taken = client.take(name);
    const Time granted = BootClock::now();
    CHECK(eventually([&] { return BootClock::now() >= granted + 700ms; }));
    CHECK(client.release(taken.hold, {.tell_for = 1h}) == ReleaseVerdict::released);
    Time asked;
    Duration ago{};
    do {  // a slow answer does not show when the count began
      asked = BootClock::now();
      ago = client.must_be_done(once_per(1h, claim_of(name)));
    } while (BootClock::now() - asked > 300ms);
    CHECK(ago + 100ms >= asked - granted);
    client.take(once_per(500ms, claim_of(name)));
  });
}

TEST_CASE("once per: a success is forgotten at the time that its run has set") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Time before = BootClock::now();
    succeed(client, name, 700ms);
    client.take_eventually(once_per(1h, claim_of(name)));
    CHECK(BootClock::now() + 10ms >= before + 700ms);
  });
}

TEST_CASE("once per: inspect shows a success, and forget deletes it without touching the holder") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const auto forget = [&] {
      auto forgotten = client.store().forget(name, soon());
      REQUIRE(forgotten.has_value());
      return *forgotten;
    };
    CHECK_FALSE(forget().has_value());
    CHECK_FALSE(client.inspect(name).success.has_value());
    succeed(client, name);
    const Taken holder = client.take(name);
    const auto seen = client.inspect(name).success;
    REQUIRE(seen.has_value());
    CHECK(seen->ago < 10s);
    CHECK(seen->left > 59min);
    const auto forgotten = forget();
    REQUIRE(forgotten.has_value());
    CHECK(forgotten->since_ms == seen->since_ms);
    CHECK(forgotten->left > 59min);
    CHECK_FALSE(forget().has_value());
    CHECK(client.renew(holder.hold).verdict == RenewVerdict::renewed);
    CHECK(client.release(holder.hold) == ReleaseVerdict::released);
    client.take(once_per(1h, claim_of(name)));
  });
}

TEST_CASE("once per: a nested run joins its ancestor whatever succeeded before") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    succeed(client, name);
    const Hold outer = client.take(name).hold;
    CHECK(client.take(once_per(1h, claim_below(outer))).hold.nested);
  });
}

TEST_CASE("once per: the success of a nested run counts at once") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold outer = client.take(name).hold;
    const Hold inner = client.take(claim_below(outer)).hold;
    CHECK(client.release(inner, {.tell_for = 1h}) == ReleaseVerdict::still_held);
    client.must_be_done(once_per(1h, claim_of(name)));
    CHECK(client.release(outer) == ReleaseVerdict::released);
    client.must_be_done(once_per(1h, claim_of(name)));
  });
}

TEST_CASE(
    "once per: a repeated claim is granted again, even if another run has succeeded meanwhile") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Claim claim = once_per(1h, claim_as(Mode::shared, name));
    const Hold hold = client.take(claim).hold;
    Client another(backing);
    const Hold other = another.take(claim_as(Mode::shared, name)).hold;
    CHECK(another.release(other, {.tell_for = 1h}) == ReleaseVerdict::released);
    CHECK(client.take(claim).hold.token == hold.token);
  });
}

TEST_CASE("once per: a claim of several names is done only if all of them are") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    succeed(client, a);
    const Holds holds = client.take(once_per(1h, claim_of({a, b}))).holds;
    CHECK(client.release(holds, {.tell_for = 1h}) == ReleaseVerdict::released);
    CHECK(client.must_be_done(once_per(1h, claim_of({b, a}))) < 10s);
    CHECK(client.must_be_done(once_per(1h, claim_of(b))) < 10s);
  });
}

TEST_CASE("once per: a name may be kept and done at the same time") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(name).hold;
    const ReleaseOptions options{.keep = 60s, .tell_for = 1h};
    CHECK(client.release(hold, options) == ReleaseVerdict::released);
    client.must_be_done(once_per(1h, claim_of(name)));
    client.must_be_busy(claim_of(name));
    CHECK(client.release(hold, options) == ReleaseVerdict::not_held);
  });
}

}  // namespace dlock::contract
