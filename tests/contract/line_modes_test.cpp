// SPDX-License-Identifier: MIT
// The line of a lock that several can hold: readers, slots, and claims of several names.
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "contract/in_line.hpp"

namespace dlock::contract {

namespace {

bool is_woken(InLine& waiter) {
  return waiter.client.await_hand_off(soon()) != HandOff::timed_out;
}

}  // namespace

TEST_CASE("line: adjacent readers enter together, a writer behind them waits") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(writer(name)).hold;
    InLine first(backing, reader(name));
    InLine second(backing, reader(name));
    InLine third(backing, reader(name));
    InLine last(backing, writer(name));
    CHECK(last.place == 4);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    std::vector<Hold> reads;
    for (InLine* waiter : {&first, &second, &third}) {
      CHECK(is_woken(*waiter));
      reads.push_back(enters_eventually(*waiter).hold);
    }
    CHECK(holder.inspect(name).owner_count == 3);
    CHECK(last.refused() == 1);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      CHECK(last.refused() == 1);
      CHECK(holder.release(reads[i]) == ReleaseVerdict::released);
    }
    CHECK(is_woken(last));
    CHECK(enters_eventually(last).hold.mode == Mode::exclusive);
  });
}

TEST_CASE("line: a reader behind a waiting writer waits, though others read (5379)") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(reader(name)).hold;
    InLine waiting(backing, writer(name));
    Client stranger(backing);
    CHECK(stranger.must_be_busy(reader(name)).place == 0);
    InLine late(backing, reader(name));
    CHECK(late.place == 2);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(is_woken(waiting));
    CHECK(late.refused() == 2);
    const Hold written = waiting.enter().hold;
    CHECK(late.refused() == 1);
    CHECK(waiting.client.release(written) == ReleaseVerdict::released);
    CHECK(is_woken(late));
    enters_eventually(late);
  });
}

TEST_CASE("line: refused claims of others give no turn to a writer that the lock does not admit") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(reader(name)).hold;
    InLine waiting(backing, writer(name));
    InLine late(backing, reader(name));
    Client stranger(backing);
    for (int i = 0; i < 3; ++i) {
      stranger.must_be_busy(reader(name));
      CHECK(late.refused() == 2);
    }
    CHECK(hears_nothing(waiting));
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(hears_its_turn(waiting));
  });
}

TEST_CASE("line: a steady stream of readers does not keep a writer out (5379)") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    Hold hold = holder.take(reader(name)).hold;
    InLine waiting(backing, writer(name));
    std::vector<std::unique_ptr<InLine>> readers;
    for (int i = 0; i < 10; ++i)
      readers.push_back(std::make_unique<InLine>(backing, reader(name)));
    CHECK(holder.renew(hold).verdict == RenewVerdict::renewed);
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    for (auto& one : readers)
      CHECK(one->refused() >= 2);
    const Hold written = enters_eventually(waiting).hold;
    CHECK(waiting.client.release(written) == ReleaseVerdict::released);
    for (auto& one : readers)
      enters_eventually(*one);
    CHECK(holder.inspect(name).owner_count == 10);
  });
}

TEST_CASE("line: a reader enters at once while others read and there is no waiter") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    holder.take(reader(name));
    Client other = in_line(backing);
    other.take(reader(name));
    CHECK(holder.inspect(name).waiting == 0);
    CHECK(holder.inspect(name).owner_count == 2);
  });
}

TEST_CASE("line: a writer that becomes a reader admits the readers at the head of the line") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold write = holder.take(writer(name)).hold;
    holder.take(below(write, reader(name)));
    InLine first(backing, reader(name));
    InLine last(backing, writer(name));
    CHECK(holder.release(write) == ReleaseVerdict::still_held);
    CHECK(is_woken(first));
    enters_eventually(first);
    CHECK(last.refused() == 1);
  });
}

TEST_CASE("line: a nested read passes a waiting writer") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold outer = holder.take(reader(name)).hold;
    InLine waiting(backing, writer(name));
    holder.wait_in_line();
    const Hold inner = holder.take(below(outer, reader(name))).hold;
    CHECK(inner.nested);
    CHECK(holder.release(outer) == ReleaseVerdict::still_held);
    CHECK(waiting.refused() == 1);
    CHECK(holder.release(inner) == ReleaseVerdict::released);
    CHECK(is_woken(waiting));
    enters_eventually(waiting);
  });
}

TEST_CASE("line: waiters get slots in the order of their arrival") {
  each_line([](const Backing& backing) {
    if (!has_slots(backing)) return;
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold one = holder.take(claim_slot(2, name)).hold;
    const Hold two = holder.take(claim_slot(2, name)).hold;
    InLine first(backing, claim_slot(2, name));
    InLine second(backing, claim_slot(2, name));
    InLine third(backing, claim_slot(2, name));
    CHECK(third.place == 3);
    CHECK(holder.release(two) == ReleaseVerdict::released);
    CHECK(is_woken(first));
    CHECK(second.refused() == 2);
    CHECK(holder.must_be_busy(claim_slot(2, name)).place == 0);
    CHECK(enters_eventually(first).hold.slot == 1U);
    CHECK(second.refused() == 1);
    CHECK(holder.release(one) == ReleaseVerdict::released);
    CHECK(is_woken(second));
    CHECK(enters_eventually(second).hold.slot == 0U);
    CHECK(third.refused() == 1);
  });
}

TEST_CASE("line: slots that become free together are taken together") {
  each_line([](const Backing& backing) {
    if (!has_slots(backing)) return;
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, claim_slot(2, name));
    InLine second(backing, claim_slot(2, name));
    InLine third(backing, claim_slot(2, name));
    CHECK(holder.release(hold) == ReleaseVerdict::released);
    CHECK(is_woken(first));
    enters_eventually(first);
    CHECK(is_woken(second));
    enters_eventually(second);
    CHECK(third.refused() == 1);
  });
}

TEST_CASE("line: a waiter that is first in the lines of both its names gets both") {
  each_line([](const Backing& backing) {
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    Client holder(backing);
    const Hold on_a = holder.take(a).hold;
    const Hold on_b = holder.take(b).hold;
    InLine both(backing, claim_of({a, b}));
    CHECK(both.place == 1);
    CHECK(holder.inspect(a).waiting == 1);
    CHECK(holder.inspect(b).waiting == 1);
    CHECK(holder.release(on_a) == ReleaseVerdict::released);
    CHECK(both.client.must_be_busy(both.claim).which == 1);
    // As flock a flock b would hold it: a stays free for it.
    InLine late(backing, a);
    CHECK(late.place == 2);
    CHECK(holder.release(on_b) == ReleaseVerdict::released);
    CHECK(is_woken(both));
    const Taken taken = enters_eventually(both);
    CHECK(holder.inspect(a).waiting == 1);
    CHECK(holder.inspect(b).waiting == 0);
    CHECK(late.refused() == 1);
    CHECK(both.client.release(taken.holds) == ReleaseVerdict::released);
    CHECK(is_woken(late));
    enters_eventually(late);
  });
}

TEST_CASE("line: two waiters for the same names in different orders both get them") {
  each_line([](const Backing& backing) {
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    Client holder(backing);
    const Holds holds = holder.take(claim_of({a, b})).holds;
    InLine first(backing, claim_of({b, a}));
    InLine second(backing, claim_of({a, b}));
    CHECK(first.place == 1);
    CHECK(second.place == 2);
    CHECK(holder.release(holds) == ReleaseVerdict::released);
    CHECK(is_woken(first));
    CHECK(second.refused() == 2);
    const Taken taken = enters_eventually(first);
    CHECK(second.refused() == 1);
    CHECK(first.client.release(taken.holds) == ReleaseVerdict::released);
    CHECK(is_woken(second));
    enters_eventually(second);
  });
}

TEST_CASE("line: chains of claims of two names do not deadlock") {
  each_line([](const Backing& backing) {
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    const LockName c = fresh_name("c");
    Client holder(backing);
    const Holds holds = holder.take(claim_of({a, b, c})).holds;
    std::vector<std::unique_ptr<InLine>> line;
    for (const auto& names : {std::vector{a, b}, std::vector{b, c}, std::vector{c, a}})
      line.push_back(std::make_unique<InLine>(backing, claim_of(names)));
    CHECK(holder.release(holds) == ReleaseVerdict::released);
    for (auto& waiter : line) {
      const Taken taken = enters_eventually(*waiter);
      CHECK(waiter->client.release(taken.holds) == ReleaseVerdict::released);
    }
    for (const LockName& name : {a, b, c})
      CHECK(holder.inspect(name).waiting == 0);
  });
}

TEST_CASE("line: a waiter that was passed over in one of its lines blocks no other, nor itself") {
  each_line([](const Backing& backing) {
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    Client holder(backing);
    const Hold on_a = holder.take(a).hold;
    const Hold on_b = holder.take(b).hold;
    InLine frozen(backing, claim_of({a, b}));
    InLine other(backing, claim_of({a, b}));
    CHECK(holder.release(on_b) == ReleaseVerdict::released);
    const Time turn_is_over = BootClock::now() + 1200ms;
    CHECK(eventually([&] { return BootClock::now() > turn_is_over; }));
    other.refused();
    frozen.refused();
    CHECK(holder.release(on_a) == ReleaseVerdict::released);
    std::optional<Holds> holds;
    InLine* first = nullptr;
    CHECK(eventually([&] {
      for (InLine* waiter : {&frozen, &other}) {
        const AcquireReply reply = waiter->client.acquire(waiter->claim);
        if (const auto* grant = std::get_if<Grant>(&reply)) {
          first = waiter;
          holds = grant->holds;
          return true;
        }
      }
      return false;
    }));
    REQUIRE(holds.has_value());
    CHECK(first->client.release(*holds) == ReleaseVerdict::released);
    enters_eventually(first == &frozen ? other : frozen);
  });
}

TEST_CASE("line: a waiter that leaves, or is undone, leaves the lines of all its names") {
  each_line([](const Backing& backing) {
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    Client holder(backing);
    const Hold on_b = holder.take(b).hold;
    InLine both(backing, claim_of({a, b}));
    InLine behind(backing, a);
    CHECK(behind.place == 2);
    both.client.leave(both.claim);
    CHECK(is_woken(behind));
    enters_eventually(behind);
    CHECK(holder.inspect(b).waiting == 0);
    InLine again(backing, claim_of({a, b}));
    again.client.undo(again.claim);
    CHECK(holder.inspect(a).waiting == 0);
    CHECK(holder.inspect(b).waiting == 0);
    CHECK(holder.check(on_b).verdict == RenewVerdict::held);
  });
}

TEST_CASE(
    "line: a waiter whose --once-per was met meanwhile is refused as done, and leaves the line") {
  each_line([](const Backing& backing) {
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    Claim claim = claim_of(name);
    claim.once_per = 1h;
    InLine waiting(backing, claim);
    InLine behind(backing, name);
    CHECK(holder.release(hold, {.tell_for = 1h}) == ReleaseVerdict::released);
    waiting.client.must_be_done(waiting.claim);
    CHECK(holder.inspect(name).waiting == 1);
    CHECK(is_woken(behind));
    enters_eventually(behind);
  });
}

TEST_CASE("line: a kept name goes to the first waiter when its time is over") {
  each_line([](const Backing& backing) {
    if (!backing.open(nullptr)->traits().keep) return;
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    InLine second(backing, name);
    CHECK(holder.release(hold, {.keep = 1s}) == ReleaseVerdict::released);
    CHECK(second.refused() == 2);
    enters_eventually(first);
    CHECK(second.refused() == 1);
  });
}

TEST_CASE("line: force-release --now of a kept lock wakes the waiter") {
  each_line([](const Backing& backing) {
    if (!backing.open(nullptr)->traits().keep) return;
    const LockName name = fresh_name();
    Client holder(backing);
    const Hold hold = holder.take(name).hold;
    InLine first(backing, name);
    CHECK(holder.release(hold, {.keep = 60s}) == ReleaseVerdict::released);
    const RevokeOrder order{.by = "bob@ops", .now = false, .if_owner = {}, .if_token = {}};
    CHECK(holder.revoke(name, order).verdict == RevokeVerdict::deleted);
    CHECK(is_woken(first));
    enters_eventually(first);
  });
}

}  // namespace dlock::contract
