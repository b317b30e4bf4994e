// SPDX-License-Identifier: MIT
#include "sys/wake_up.hpp"

#include <poll.h>

#include <thread>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

// Waits as a waiter does: a wake-up may come without a reason, or before all servers of a quorum
// have released the lock. Returns false if the lock is not free within 10 s.
bool woken_to_a_free_lock(Client& client, const LockName& name) {
  const Time end = soon();
  while (BootClock::now() < end) {
    const auto hand_off = client.store().await_hand_off(end);
    REQUIRE(hand_off.has_value());
    if (*hand_off == HandOff::timed_out) continue;
    const Time looks = BootClock::now() + 200ms;
    do {
      if (client.inspect(name).kind == Holding::Kind::none) return true;
    } while (BootClock::now() < looks);
  }
  return false;
}

// Returns whether the wait times out; wake-ups without a reason are ignored.
bool times_out(Client& client, Time until) {
  return eventually([&] {
    const auto hand_off = client.store().await_hand_off(until);
    return hand_off && *hand_off == HandOff::timed_out;
  });
}

}  // namespace

TEST_CASE("a waiter is woken when the lock is released") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    const Hold hold = holder.take(name, 60s).hold;
    waiter.watch(name);
    std::thread releasing([&] {
      ::poll(nullptr, 0, 50);
      (void)holder.store().release({hold}, {}, soon()).has_value();
    });
    CHECK(woken_to_a_free_lock(waiter, name));
    releasing.join();
  });
}

TEST_CASE("a release between watching and waiting is not missed") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    const Hold hold = holder.take(name, 60s).hold;
    waiter.watch(name);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(woken_to_a_free_lock(waiter, name));
  });
}

TEST_CASE("a waiter is woken when the lock is deleted") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    holder.take(name, 60s);
    waiter.watch(name);
    const RevokeOrder order{.by = "bob@ops", .now = true, .if_owner = {}, .if_token = {}};
    CHECK(holder.revoke(name, order).verdict == RevokeVerdict::deleted);
    CHECK(woken_to_a_free_lock(waiter, name));
  });
}

TEST_CASE("waiting ends at its time when nothing is released") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    const LockName other = fresh_name();
    holder.take(name, 60s);
    const Hold elsewhere = holder.take(other, 60s).hold;
    waiter.watch(name);
    CHECK(holder.release(elsewhere) == ReleaseVerdict::released);
    const Time until = BootClock::now() + 200ms;
    CHECK(times_out(waiter, until));
    CHECK(BootClock::now() >= until);
  });
}

TEST_CASE("refused claims wake no waiter") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    holder.take(name, 60s);
    waiter.watch(name);
    for (int i = 0; i < 5; ++i) {
      waiter.must_be_busy(claim_of(name));
      holder.must_be_busy(claim_of(name));
    }
    const auto hand_off = waiter.store().await_hand_off(BootClock::now() + 100ms);
    REQUIRE(hand_off.has_value());
    CHECK(*hand_off == HandOff::timed_out);
  });
}

TEST_CASE("an interrupt ends the wait") {
  each_store([](const Backing& backing) {
    const WakeUp interrupt;
    Client waiter(backing, &interrupt);
    Client holder(backing);
    const LockName name = fresh_name();
    holder.take(name, 60s);
    waiter.watch(name);
    std::thread raising([&] {
      ::poll(nullptr, 0, 50);
      interrupt.raise();
    });
    const Time end = soon();
    auto hand_off = waiter.store().await_hand_off(end);
    while (hand_off && *hand_off != HandOff::timed_out && BootClock::now() < end) {
      hand_off = waiter.store().await_hand_off(end);
    }
    raising.join();
    REQUIRE_FALSE(hand_off.has_value());
    CHECK(hand_off.error().code == Errc::cancelled);
    CHECK(BootClock::now() < end);
    interrupt.clear();
    CHECK(waiter.inspect(name).kind == Holding::Kind::lock);
  });
}

TEST_CASE("watching another name wakes for that one") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName first = fresh_name();
    const LockName second = fresh_name();
    const Hold hold = holder.take(second, 60s).hold;
    waiter.watch(first);
    waiter.watch(second);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(woken_to_a_free_lock(waiter, second));
  });
}

}  // namespace dlock::contract
