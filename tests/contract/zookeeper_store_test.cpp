// SPDX-License-Identifier: MIT
// Cases for ZooKeeper alone: claims that are not one step there, and sessions.
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

void in_zookeeper(const Body& body) {
  each_store([&](const Backing& backing) {
    if (backing.name == "zookeeper") body(backing);
  });
}

}  // namespace

TEST_CASE("zookeeper: a claim of two names that has one of them, and is refused, gives it up") {
  in_zookeeper([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    // Looks as if the node of the second name had been removed again.
    Claim claim = claim_of(a);
    client.take(claim);
    claim.names = {b, a};
    const Hold rival = other.take(b).hold;
    CHECK(client.must_be_busy(claim).which == 0);
    CHECK(is_free(other, a));
    CHECK(other.release(rival) == ReleaseVerdict::released);
    CHECK(client.take(claim).holds.size() == 2);
    // Once more, below a run that holds one of the names.
    const Taken outer = other.take(fresh_name("a"));
    Claim nested = below(outer.hold, claim_of(outer.hold.name));
    other.take(nested);
    nested.names = {b, outer.hold.name};
    other.must_be_busy(nested);
    CHECK(other.inspect(outer.hold.name).holds.size() == 1);
  });
}

TEST_CASE("zookeeper: a claim that does not wait leaves no place, whatever it left before") {
  in_zookeeper([](const Backing& backing) {
    Client holder(backing);
    Client client(backing);
    const LockName name = fresh_name();
    const Hold hold = holder.take(name).hold;
    const Claim claim = claim_of(name);
    client.wait_in_line();
    client.must_be_busy(claim);
    CHECK(holder.inspect(name).waiting == 1);
    client.wait_in_line(Queueing::no);
    client.must_be_busy(claim);
    CHECK(holder.inspect(name).waiting == 0);
    client.wait_in_line();
    client.must_be_busy(claim);
    client.wait_in_line(Queueing::no);
    client.leave(claim);
    CHECK(holder.inspect(name).waiting == 0);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("zookeeper: a waiter's session is kept between its tries, however short it is") {
  in_zookeeper([](const Backing& backing) {
    Client holder(backing);
    Client client(backing);
    const LockName name = fresh_name();
    holder.take(name);
    const Claim claim = claim_of(name, 600ms);
    client.wait_in_line();
    client.watch(claim);
    client.must_be_busy(claim);
    CHECK(client.await_hand_off(BootClock::now() + 2500ms) == HandOff::timed_out);
    CHECK(holder.inspect(name).waiting == 1);
  });
}

TEST_CASE("zookeeper: the first waiter behind more holders than keep a connection has its turn") {
  in_zookeeper([](const Backing& backing) {
    constexpr std::uint32_t k_slots = 20;
    Client holder(backing);
    Client client(backing);
    const LockName name = fresh_name();
    std::vector<Hold> holds;
    for (std::uint32_t i = 0; i < k_slots; ++i)
      holds.push_back(holder.take(claim_slot(k_slots, name)).hold);
    const Claim claim = claim_slot(k_slots, name);
    client.wait_in_line();
    client.watch(claim);
    client.must_be_busy(claim);
    CHECK(client.await_hand_off(BootClock::now() + 300ms) == HandOff::timed_out);
    CHECK(holder.release(holds[7]) == ReleaseVerdict::released);
    CHECK(client.await_hand_off(soon()) == HandOff::turn);
    client.take(claim);
  });
}

}  // namespace dlock::contract
