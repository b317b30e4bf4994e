// SPDX-License-Identifier: MIT
// A call that needs a trait which the store lacks is refused and changes nothing. One store
// declines all traits, so that every refusal is tried.
#include "contract/lock_store_contract.hpp"
#include "support/declining_store.hpp"

namespace dlock::contract {

namespace {

Backing declining(const Backing& backing) {
  return {.name = backing.name + ", declining",
          .across_processes = backing.across_processes,
          .hears_death = backing.hears_death,
          .open = [open = backing.open](const Interrupt* interrupt) -> std::unique_ptr<LockStore> {
            return std::make_unique<test::DecliningStore>(open(interrupt),
                                                          test::k_plain_locks_only);
          }};
}

// Runs the body with every store, and again with every store reduced to plain locks of one name.
void each_store_and_less(const Body& body) {
  each_store([&](const Backing& backing) {
    body(backing);
    INFO("declining");
    body(declining(backing));
  });
}

// Checks that the claim, which needs the trait, is granted if the store has it, and otherwise
// refused without a change.
void granted_if(bool supported, Client& client, const Claim& claim) {
  const auto reply = client.try_acquire(claim);
  if (supported) {
    REQUIRE_MESSAGE(reply.has_value(), (reply ? "" : reply.error().text));
    CHECK(std::holds_alternative<Grant>(*reply));
    return;
  }
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::bad_usage);
  for (const LockName& name : claim.names)
    CHECK(is_free(client, name));
}

}  // namespace

TEST_CASE("traits: the stores support everything but one or two") {
  each_store([](const Backing& backing) {
    const StoreTraits traits = Client(backing).store().traits();
    CHECK((traits.exclusive && traits.shared));
    CHECK((traits.several_names && traits.nesting && traits.tokens));
    CHECK((traits.once_per && traits.detached));
    CHECK((traits.keep && traits.longer) == (backing.name != "zookeeper"));
    CHECK(traits.slots == (backing.name != "quorum"));
    CHECK(traits.line == (backing.name != "local"));
    const bool knows_order = traits.line && traits.slots && backing.name != "zookeeper";
    CHECK(traits.supersede == knows_order);
  });
}

TEST_CASE("traits: every store supports a plain lock of one name, whatever else it declines") {
  each_store_and_less([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(name).hold;
    CHECK((hold.token != 0) == client.store().traits().tokens);
    CHECK(other.must_be_busy(claim_of(name)).holding.owners.at(0).id == hold.owner);
    CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
    CHECK(client.check(hold).verdict == RenewVerdict::held);
    CHECK(client.release(hold) == ReleaseVerdict::released);
    CHECK(is_free(other, name));
    other.take(name);
  });
}

TEST_CASE("traits: a mode that is supported is granted, one that is declined is refused") {
  each_store_and_less([](const Backing& backing) {
    Client client(backing);
    const StoreTraits traits = client.store().traits();
    granted_if(traits.exclusive, client, writer(fresh_name()));
    granted_if(traits.shared, client, reader(fresh_name()));
    granted_if(traits.slots, client, claim_slot(2, fresh_name()));
  });
}

TEST_CASE("traits: several names and nested runs are supported or refused") {
  each_store_and_less([](const Backing& backing) {
    Client client(backing);
    const StoreTraits traits = client.store().traits();
    granted_if(traits.several_names, client, claim_of({fresh_name(), fresh_name()}));
    Claim one_of = claim_of({fresh_name(), fresh_name()});
    one_of.one_from = 1;
    granted_if(traits.one_of, client, one_of);
    const Hold outer = client.take(fresh_name()).hold;
    const auto nested = client.try_acquire(claim_below(outer));
    CHECK(nested.has_value() == traits.nesting);
    if (!nested) CHECK(nested.error().code == Errc::bad_usage);
    CHECK(client.renew(outer).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("traits: a lock is kept after its release where that is supported, else still held") {
  each_store_and_less([](const Backing& backing) {
    Client client(backing);
    const Hold hold = client.take(fresh_name()).hold;
    const auto released = client.store().release({hold}, {.keep = 30s}, soon());
    const bool supported = client.store().traits().keep;
    CHECK(released.has_value() == supported);
    if (!released) CHECK(released.error().code == Errc::bad_usage);
    CHECK((client.check(hold).verdict == RenewVerdict::held) == !supported);
    CHECK_FALSE(is_free(client, hold.name));
  });
}

TEST_CASE("traits: a lease becomes longer where that is supported, else it stays as it is") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const bool supported = client.store().traits().longer;
    Hold hold = client.take(fresh_name(), 20s).hold;
    const auto nested = client.try_acquire(claim_below(hold, 40s));
    CHECK(nested.has_value() == supported);
    hold.ttl = 30s;
    const auto renewed = client.store().renew({hold}, soon());
    CHECK(renewed.has_value() == supported);
    if (!nested) CHECK(nested.error().code == Errc::bad_usage);
    if (!renewed) CHECK(renewed.error().code == Errc::bad_usage);
    hold.ttl = 20s;
    CHECK(client.renew(hold).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("traits: a success is remembered and forgotten where that is supported") {
  each_store_and_less([](const Backing& backing) {
    Client client(backing);
    const bool supported = client.store().traits().once_per;
    Claim claim = claim_of(fresh_name());
    claim.once_per = 1h;
    granted_if(supported, client, claim);
    const Hold hold = client.take(fresh_name()).hold;
    const auto told = client.store().release({hold}, {.tell_for = 1h}, soon());
    CHECK(told.has_value() == supported);
    if (!told) CHECK(told.error().code == Errc::bad_usage);
    const auto forgotten = client.store().forget(hold.name, soon());
    CHECK(forgotten.has_value() == supported);
    if (!forgotten) CHECK(forgotten.error().code == Errc::bad_usage);
  });
}

TEST_CASE("traits: a waiter has a place where the store has a line, and none elsewhere") {
  each_store_and_less([](const Backing& backing) {
    Client holder(backing);
    const LockName name = fresh_name();
    holder.take(name);
    Client waiter(backing);
    waiter.wait_in_line();
    const std::uint64_t place = waiter.store().traits().line ? 1 : 0;
    CHECK(waiter.must_be_busy(claim_of(name)).place == place);
  });
}

}  // namespace dlock::contract
