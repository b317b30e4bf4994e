// SPDX-License-Identifier: MIT
// The line, in stores that keep one: first come, first served; a waiter that is dead or does not
// take its turn is passed over.
#include <optional>

#include "contract/in_line.hpp"

namespace dlock::contract {

namespace {

// How long the first waiter has to take its turn (lock_store.hpp); tests add some time for slow
// machines.
constexpr Duration k_turn = 1s;

}  // namespace

TEST_CASE("line: waiters get the lock in the order of their arrival") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client first(backing);
    Hold hold = first.take(name).hold;
    Client* holder = &first;
    std::vector<std::unique_ptr<InLine>> line;
    for (std::uint64_t i = 1; i <= 10; ++i) {
      line.push_back(std::make_unique<InLine>(backing, name));
      CHECK(line.back()->place == i);
    }
    for (auto& waiter : line) {
      CHECK(holder->release(hold) == ReleaseVerdict::released);
      CHECK(hears_its_turn(*waiter));
      hold = waiter->enter().hold;
      holder = &waiter->client;
    }
    CHECK(holder->inspect(name).waiting == 0);
    CHECK(holder->release(hold) == ReleaseVerdict::released);
  });
}

TEST_CASE(
    "line: the first waiter gets the message \"turn\", the second \"next\", the others none") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    InLine second(backing, name);
    InLine third(backing, name);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(hears(first, HandOff::turn));
    CHECK(hears(second, HandOff::next));
    CHECK(hears_nothing(third));
  });
}

TEST_CASE("line: while there is a waiter other claims are refused, even if the lock is free") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    Client stranger(backing);
    const Refusal seen = stranger.must_be_busy(claim_of(name));
    CHECK(seen.holding.kind == Holding::Kind::none);
    CHECK(seen.holding.waiting == 1);
    CHECK(seen.place == 0);
    InLine newcomer(backing, name);
    CHECK(newcomer.place == 2);
    first.enter();
    CHECK(newcomer.refused() == 1);
  });
}

TEST_CASE("line: a waiter that repeats its refused claim keeps its place") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    holder.take(name);
    InLine first(backing, name);
    InLine second(backing, name);
    for (int i = 0; i < 5; ++i) {
      CHECK(second.refused() == 2);
      CHECK(first.refused() == 1);
    }
    CHECK(holder.inspect(name).waiting == 2);
  });
}

TEST_CASE("line: a first waiter that does not take its turn is passed over, and is last then") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine frozen(backing, name);
    InLine second(backing, name);
    InLine third(backing, name);
    const Time released = BootClock::now();
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    enters_eventually(second);
    CHECK(BootClock::now() - released > k_turn / 2);
    CHECK(frozen.refused() == 2);
    CHECK(third.refused() == 1);
  });
}

TEST_CASE("line: a first waiter that waits for another name, too, is not passed over if it tries") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    const LockName other = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(other).hold;
    InLine first(backing, claim_of({name, other}));
    InLine second(backing, name);
    CHECK(second.place == 2);
    const Time end = BootClock::now() + 3 * k_turn;
    while (BootClock::now() < end) {
      REQUIRE(second.refused() == 2);
      const Time next_try = BootClock::now() + k_turn / 4;
      while (BootClock::now() < next_try)
        if (first.client.await_hand_off(next_try) == HandOff::turn) CHECK(first.refused() == 1);
    }
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    enters_eventually(first);
  });
}

TEST_CASE("line: a dead waiter delays no other, or by no more than a turn") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    std::optional<InLine> dead;
    dead.emplace(backing, name);
    InLine second(backing, name);
    CHECK(second.place == 2);
    dead.reset();
    // Its subscription has ended; the server has seen that once it has answered twice.
    holder.inspect(name);
    holder.inspect(name);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    if (backing.hears_death) {
      CHECK(hears(second, HandOff::turn));
    } else {
      CHECK(hears(second, HandOff::next));
      CHECK(hears(second, HandOff::turn));
    }
    second.enter();
    CHECK(holder.inspect(name).waiting == 0);
  });
}

TEST_CASE("line: a waiter that polls is not taken for dead") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    Client client(backing);
    client.wait_in_line(Queueing::polling);
    const Claim polling = claim_of(name);
    CHECK(client.must_be_busy(polling).place == 1);
    InLine second(backing, name);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(second.refused() == 2);
    client.take(polling);
  });
}

TEST_CASE("line: a waiter that leaves passes its turn on, and may leave twice") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    InLine second(backing, name);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(hears(second, HandOff::next));
    first.client.leave(first.claim);
    CHECK(hears(second, HandOff::turn));
    first.client.leave(first.claim);
    const Hold next = second.enter().hold;
    CHECK(holder.inspect(name).waiting == 0);
    CHECK(second.client.release(next) == ReleaseVerdict::released);
    holder.take(name);
  });
}

TEST_CASE("line: undoing a claim removes its waiter from the line") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    holder.take(name);
    InLine first(backing, name);
    first.client.undo(first.claim);
    CHECK(holder.inspect(name).waiting == 0);
  });
}

TEST_CASE("line: a claim that allows a number of waiters is refused a place beyond that number") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    holder.take(name);
    Claim none = claim_of(name);
    none.max_waiters = 0;
    CHECK(in_line(backing).must_be_busy(none).place == 0);
    InLine first(backing, name);
    Claim one = claim_of(name);
    one.max_waiters = 1;
    const Refusal full = in_line(backing).must_be_busy(one);
    CHECK(full.place == 0);
    CHECK(full.holding.waiting == 1);
    first.claim.max_waiters = 1;  // a waiter in line is not removed
    CHECK(first.refused() == 1);
    one.max_waiters = 2;
    CHECK(in_line(backing).must_be_busy(one).place == 2);
  });
}

TEST_CASE("line: a nested claim does not have to wait in line") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    holder.wait_in_line();
    const Hold nested = holder.take(claim_below(hold)).hold;
    CHECK(nested.nested);
    CHECK(holder.inspect(name).waiting == 1);
    CHECK(holder.release(hold) == ReleaseVerdict::still_held);
    CHECK(hears_nothing(first));
    CHECK(holder.release(nested) == ReleaseVerdict::released);
    CHECK(hears(first, HandOff::turn));
    first.enter();
  });
}

TEST_CASE(
    "line: a waiter that repeats its granted claim counts once, and is not in line any more") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client client = in_line(backing);
    const Claim claim = claim_of(name);
    const Taken once = client.take(claim);
    const Taken again = client.take(claim);
    CHECK(again.hold.token == once.hold.token);
    const Holding holding = client.inspect(name);
    CHECK(holding.owners.at(0).count == "1");
    CHECK(holding.waiting == 0);
    CHECK(client.release(once.hold) == ReleaseVerdict::released);
    CHECK(client.inspect(name).kind == Holding::Kind::none);
  });
}

TEST_CASE("line: inspecting shows the waiters in order, each with the start of its wait") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    holder.take(name);
    Client one = in_line(backing);
    Client other = in_line(backing);
    Claim first = claim_of(name);
    first.who.reason = "first";
    Claim second = claim_of(name);
    second.who.reason = "second";
    one.must_be_busy(first);
    other.must_be_busy(second);
    const Holding holding = holder.inspect(name);
    CHECK(holding.waiting == 2);
    REQUIRE(holding.line.size() == 2);
    CHECK(holding.line[0].who.reason == "first");
    CHECK(holding.line[1].who.reason == "second");
    CHECK(holding.line[0].who.host == "db1");
    CHECK(holding.line[0].since_ms <= holding.line[1].since_ms);
    CHECK(holding.line[1].since_ms <= holding.now_ms);
    CHECK(holding.now_ms - holding.line[0].since_ms < 10'000);
  });
}

TEST_CASE(
    "line: one of the first two waiters keeps its place while it watches the key, and gets its "
    "turn") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    InLine second(backing, name);
    for (int i = 0; i < 5; ++i)
      first.client.watch(first.claim, true);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    const Time end = soon();
    while (first.client.await_hand_off(end) != HandOff::turn)
      REQUIRE(BootClock::now() < end);
    first.enter();
  });
}

TEST_CASE(
    "line: the first waiters are notified of a release by a program that does not know the line") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    holder.take(name, 2s);  // without a release, as after a crash
    InLine first(backing, name);
    first.client.watch(first.claim, true);
    CHECK(first.refused() == 1);  // from now on it misses no message
    // A store that sees the end of the lease gives the turn at once.
    const HandOff heard = first.client.await_hand_off(soon());
    CHECK((heard == HandOff::changed || heard == HandOff::turn));
    enters_eventually(first);
  });
}

}  // namespace dlock::contract
