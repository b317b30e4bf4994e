// SPDX-License-Identifier: MIT
// The line for claims of one of several names: one place in the lines of all, until one is granted.
#include <cstdlib>
#include <optional>
#include <vector>

#include "contract/in_line.hpp"
#include "contract/pool.hpp"

namespace dlock::contract {

namespace {

void each_pool_with_line(const Body& body) {
  each_pool([&](const Backing& backing) {
    if (Client(backing).store().traits().line) body(backing);
  });
}

}  // namespace

TEST_CASE("one of several: a refused claim has one place in all lines, and the grant ends all") {
  each_pool_with_line([](const Backing& backing) {
    Client holder(backing);
    const Pool pool;
    const std::vector<Hold> held = take_all(holder, pool);
    InLine only_b(backing, pool.b);
    InLine waiter(backing, pool.claim());
    CHECK(waiter.place == 1);
    CHECK(holder.inspect(pool.a).waiting == 1);
    CHECK(holder.inspect(pool.b).waiting == 2);
    CHECK(holder.inspect(pool.c).waiting == 1);
    // All places are of one arrival: a store may take it from the latest line.
    const std::int64_t arrival = holder.inspect(pool.a).line.at(0).since_ms;
    CHECK(std::abs(holder.inspect(pool.c).line.at(0).since_ms - arrival) <= 1);
    CHECK(holder.release(held[2]) == ReleaseVerdict::released);
    CHECK(hears_its_turn(waiter));
    CHECK(waiter.enter().hold.name == pool.c);
    CHECK(holder.inspect(pool.a).waiting == 0);
    CHECK(holder.inspect(pool.b).waiting == 1);
    CHECK(holder.inspect(pool.c).waiting == 0);
  });
}

TEST_CASE(
    "one of several: a name that is offered to the claim is offered to the next at the grant") {
  each_pool_with_line([](const Backing& backing) {
    Client holder(backing);
    const Pool pool;
    const std::vector<Hold> held = take_all(holder, pool);
    InLine waiter(backing, pool.claim());
    InLine only_b(backing, pool.b);
    CHECK(only_b.place == 2);
    CHECK(holder.release(held[1]) == ReleaseVerdict::released);
    CHECK(holder.release(held[0]) == ReleaseVerdict::released);
    CHECK(hears_its_turn(waiter));
    CHECK(waiter.enter().hold.name == pool.a);
    // Not by its heartbeat, and without the second that a turn lasts.
    const Time before = BootClock::now();
    CHECK(hears_its_turn(only_b));
    CHECK(only_b.enter().hold.name == pool.b);
    CHECK(BootClock::now() - before < 900ms);
  });
}

TEST_CASE("one of several: a claim that leaves lets the next waiter of each name in") {
  each_pool_with_line([](const Backing& backing) {
    Client holder(backing);
    const Pool pool;
    const std::vector<Hold> held = take_all(holder, pool);
    InLine waiter(backing, pool.claim());
    InLine only_c(backing, pool.c);
    CHECK(holder.release(held[2]) == ReleaseVerdict::released);
    waiter.client.leave(waiter.claim);
    CHECK(hears_its_turn(only_c));
    CHECK(only_c.enter().hold.name == pool.c);
    for (const LockName& name : pool.names())
      CHECK(holder.inspect(name).waiting == 0);
  });
}

TEST_CASE("one of several: no claim overtakes an earlier waiter of any name") {
  each_pool_with_line([](const Backing& backing) {
    Client holder(backing);
    const Pool pool;
    const std::vector<Hold> held = take_all(holder, pool);
    InLine only_a(backing, pool.a);
    InLine first(backing, pool.claim());
    InLine second(backing, pool.claim(1));
    CHECK(first.place == 1);
    CHECK(second.place == 2);
    CHECK(holder.release(held[0]) == ReleaseVerdict::released);
    CHECK(first.client.must_be_busy(first.claim).place == 1);  // the name is offered to only_a
    CHECK(only_a.enter().hold.name == pool.a);
    CHECK(holder.release(held[1]) == ReleaseVerdict::released);
    CHECK(second.client.must_be_busy(second.claim).turn_left.has_value());
    CHECK(first.enter().hold.name == pool.b);
    CHECK(holder.release(held[2]) == ReleaseVerdict::released);
    CHECK(hears_its_turn(second));
    CHECK(second.enter().hold.name == pool.c);
  });
}

TEST_CASE("one of several: beside a claim of all of them neither waits for ever") {
  each_pool_with_line([](const Backing& backing) {
    for (const bool all_first : {true, false}) {
      Client holder(backing);
      const Pool pool;
      std::vector<Hold> held;
      for (const LockName& name : pool.names())
        held.push_back(holder.take(name).hold);
      std::optional<InLine> all;
      std::optional<InLine> one;
      if (all_first) all.emplace(backing, claim_of(pool.names()));
      one.emplace(backing, pool.claim());
      if (!all_first) all.emplace(backing, claim_of(pool.names()));
      CHECK(holder.release(held[0]) == ReleaseVerdict::released);
      if (all_first) {
        // The free name stays free for the claim of all names, which is before the other.
        one->client.must_be_busy(one->claim);
        all->client.must_be_busy(all->claim);
      } else {
        CHECK(one->enter().hold.name == pool.a);
      }
      CHECK(holder.release(held[1]) == ReleaseVerdict::released);
      CHECK(holder.release(held[2]) == ReleaseVerdict::released);
      InLine& next = all_first ? *all : *one;
      InLine& last = all_first ? *one : *all;
      const Holds first_holds = all_first ? next.enter().holds : next.client.take(next.claim).holds;
      last.client.must_be_busy(last.claim);
      CHECK(next.client.release(first_holds) == ReleaseVerdict::released);
      CHECK(enters_eventually(last).holds.size() == (all_first ? 1 : 3));
    }
  });
}

TEST_CASE("one of several: the claim may wait as long as one of the lines is not full") {
  each_pool_with_line([](const Backing& backing) {
    Client holder(backing);
    const Pool pool;
    for (const LockName& name : pool.names())
      holder.take(name);
    Claim claim = pool.claim();
    claim.max_waiters = 1;
    InLine a(backing, pool.a);
    InLine b(backing, pool.b);
    InLine first(backing, claim);
    CHECK(first.place == 1);
    Claim second = pool.claim();
    second.max_waiters = 1;
    Client client = in_line(backing);
    const Refusal refusal = client.must_be_busy(second);
    CHECK(refusal.place == 0);
    CHECK(refusal.holding.waiting >= 1);
    CHECK(holder.inspect(pool.c).waiting == 1);
  });
}

TEST_CASE("one of several: a waiter is woken by the release of any of the names") {
  each_pool([](const Backing& backing) {
    for (const std::size_t free : {0U, 1U, 2U}) {
      Client holder(backing);
      Client waiter(backing);
      const Pool pool;
      std::vector<Hold> held;
      for (const LockName& name : pool.names())
        held.push_back(holder.take(name).hold);
      const Claim claim = pool.claim(1);
      waiter.wait_in_line();
      waiter.watch(claim);
      waiter.must_be_busy(claim);
      CHECK(holder.release(held[free]) == ReleaseVerdict::released);
      CHECK(waiter.await_hand_off(soon()) != HandOff::timed_out);
      CHECK(waiter.take_eventually(claim).hold.name == pool.names()[free]);
    }
  });
}

TEST_CASE("one of several: a holder is notified of its name, and not of the others") {
  each_pool([](const Backing& backing) {
    Client client(backing);
    Client admin(backing);
    const Pool pool;
    const Hold hold = client.take(pool.claim()).hold;
    client.watch_hold(hold);
    CHECK(client.check(hold).verdict == RenewVerdict::held);
    admin.release(admin.take(pool.b).hold);
    CHECK(client.check(hold).verdict == RenewVerdict::held);
    CHECK(admin.revoke(pool.a, order()).verdict == RevokeVerdict::revoked);
    CHECK(client.await_hand_off(soon()) == HandOff::changed);
    CHECK(client.check(hold).verdict == RenewVerdict::revoked);
  });
}

}  // namespace dlock::contract
