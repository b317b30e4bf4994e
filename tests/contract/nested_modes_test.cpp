// SPDX-License-Identifier: MIT
// Shared and exclusive claims nested in each other, by one owner. Numbers in brackets are reports
// by users of Redisson about the same cases.
#include <algorithm>
#include <array>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

TEST_CASE("shared: the answer to a nested claim below each mode") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const auto nested = [&](Mode above, Mode claimed) {
      const LockName name = fresh_name();
      const Hold outer = client.take(claim_as(above, name)).hold;
      const Hold inner = client.take(below(outer, claim_as(claimed, name))).hold;
      CHECK(inner.nested);
      CHECK(inner.owner == outer.owner);
      CHECK(inner.token == outer.token);
      CHECK(client.inspect(name).holds.size() == 2);
      CHECK(client.inspect(name).mode == above);
      client.must_be_busy(writer(name));
      CHECK(client.release(inner) == ReleaseVerdict::still_held);
      CHECK(client.release(outer) == ReleaseVerdict::released);
      return inner.mode;
    };
    for (const Mode claimed : k_alone_or_shared) {
      CHECK(nested(Mode::plain, claimed) == Mode::plain);
    }
    CHECK(nested(Mode::exclusive, Mode::plain) == Mode::exclusive);
    CHECK(nested(Mode::exclusive, Mode::exclusive) == Mode::exclusive);
    CHECK(nested(Mode::exclusive, Mode::shared) == Mode::shared);
    CHECK(nested(Mode::shared, Mode::shared) == Mode::shared);
  });
}

TEST_CASE("shared: a nested claim for more than a read is refused as a deadlock (4796)") {
  each_store([](const Backing& backing) {
    for (const Mode claimed : {Mode::plain, Mode::exclusive}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold outer = client.take(reader(name)).hold;
      client.take(reader(name));
      const Refusal refusal = client.must_be_busy(below(outer, claim_as(claimed, name)));
      CHECK(refusal.by_ancestor);
      CHECK(refusal.holding.mode == Mode::shared);
      CHECK(client.inspect(name).owner_count == 2);
      CHECK_FALSE(client.must_be_busy(claim_as(claimed, name)).by_ancestor);
    }
  });
}

TEST_CASE("shared: the release of a write hold leaves the read below it, and admits readers") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold write = client.take(writer(name)).hold;
    const Hold read = client.take(below(write, reader(name))).hold;
    other.must_be_busy(reader(name));
    CHECK(client.release(write) == ReleaseVerdict::still_held);
    const Holding holding = other.inspect(name);
    CHECK(holding.mode == Mode::shared);
    CHECK(holding.owner_count == 1);
    other.must_be_busy(writer(name));
    other.take(reader(name));
    CHECK(client.renew(read).verdict == RenewVerdict::renewed);
    CHECK(client.must_be_busy(below(read, writer(name))).by_ancestor);
    CHECK(client.release(read) == ReleaseVerdict::released);
    CHECK(other.inspect(name).owner_count == 1);
  });
}

TEST_CASE("shared: a waiting reader is woken when the writer becomes a reader (3.6)") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    const Hold write = holder.take(writer(name)).hold;
    holder.take(below(write, reader(name)));
    Claim claim = reader(name);
    waiter.wait_in_line();
    waiter.watch(claim);
    waiter.must_be_busy(claim);
    CHECK(holder.release(write) == ReleaseVerdict::still_held);
    const Time end = soon();
    REQUIRE(waiter.await_hand_off(end) != HandOff::timed_out);
    waiter.take_eventually(claim);
    CHECK(BootClock::now() < end);
  });
}

TEST_CASE("shared: after the write hold is gone its reader is renewed past the old lease (4217)") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken write = client.take(writer(name, 2s));
    Hold read = client.take(below(write.hold, reader(name, 2s))).hold;
    CHECK(client.release(write.hold) == ReleaseVerdict::still_held);
    read.ttl = 30s;
    CHECK(client.renew(read).verdict == RenewVerdict::renewed);
    CHECK(eventually([&] { return BootClock::now() > write.sent_at + 2200ms; }));
    CHECK(client.check(read).verdict == RenewVerdict::held);
    CHECK(client.inspect(name).mode == Mode::shared);
    CHECK(client.release(read) == ReleaseVerdict::released);
    CHECK(client.inspect(name).kind == Holding::Kind::none);
  });
}

TEST_CASE("shared: the release of an inner read leaves the write lease as long as it was (3.6)") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold write = client.take(writer(name, 60s)).hold;
    const Hold read = client.take(below(write, reader(name, 2s))).hold;
    CHECK(client.renew(read).verdict == RenewVerdict::renewed);
    CHECK(client.inspect(name).lease_left.within().value() > 40s);
    CHECK(client.release(read) == ReleaseVerdict::still_held);
    CHECK(client.inspect(name).lease_left.within().value() > 40s);
    CHECK(client.inspect(name).lease_left.within().value() <= 60s);
    CHECK(client.inspect(name).mode == Mode::exclusive);
    CHECK(client.renew(write).verdict == RenewVerdict::renewed);
  });
}

TEST_CASE("shared: a nested write hold does not add to the lease (3.4)") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Hold outer = client.take(writer(name, 30s)).hold;
    for (int i = 0; i < 4; ++i)
      client.take(below(outer, writer(name, 30s)));
    CHECK(client.inspect(name).lease_left.within().value() <= 30s);
    CHECK(client.inspect(name).holds.size() == 5);
  });
}

TEST_CASE("shared: two reads of one owner are renewed past the lease of both (6883)") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken outer = client.take(reader(name, 2s));
    Hold inner = client.take(below(outer.hold, reader(name, 2s))).hold;
    Hold first = outer.hold;
    first.ttl = 30s;
    inner.ttl = 30s;
    CHECK(client.renew(first).verdict == RenewVerdict::renewed);
    CHECK(client.renew(inner).verdict == RenewVerdict::renewed);
    CHECK(eventually([&] { return BootClock::now() > outer.sent_at + 2200ms; }));
    CHECK(client.inspect(name).holds.size() == 2);
    CHECK(client.release(first) == ReleaseVerdict::still_held);
    CHECK(client.check(inner).verdict == RenewVerdict::held);
    CHECK(lease_of(client.inspect(name), inner.owner) > 10s);
    CHECK(client.release(inner) == ReleaseVerdict::released);
    client.take(writer(name));
  });
}

TEST_CASE("shared: a nested read keeps its whole lease when the hold above it is released") {
  each_store_with(&StoreTraits::longer, [](const Backing& backing) {
    for (const Mode mode : {Mode::shared, Mode::slots}) {
      if (mode == Mode::slots && !has_slots(backing)) continue;
      Client client(backing);
      const LockName name = fresh_name();
      const auto claim = [&](Duration ttl) {
        return mode == Mode::slots ? claim_slot(2, name, ttl) : claim_as(mode, name, ttl);
      };
      client.take(claim(60s));  // whose lease must not count for it
      const Hold outer = client.take(claim(15s)).hold;
      const Hold inner = client.take(below(outer, claim(600s))).hold;
      CHECK(client.release(outer) == ReleaseVerdict::still_held);
      CHECK(lease_of(client.inspect(name), inner.owner) > 500s);
      CHECK(client.check(inner).verdict == RenewVerdict::held);
      CHECK(client.release(inner) == ReleaseVerdict::released);
    }
  });
}

TEST_CASE("shared: nested holds may be released in any order (758, 891, 1110)") {
  each_store([](const Backing& backing) {
    std::array<std::size_t, 4> turn{0, 1, 2, 3};
    do {
      Client client(backing);
      const LockName name = fresh_name();
      const Hold write = client.take(writer(name)).hold;
      const std::array<Hold, 4> holds{write,
                                      client.take(below(write, reader(name))).hold,
                                      client.take(below(write, writer(name))).hold,
                                      client.take(below(write, reader(name))).hold};
      std::size_t writes = 2;
      for (std::size_t i = 0; i < turn.size(); ++i) {
        const Hold& hold = holds.at(turn.at(i));
        const bool last = i + 1 == turn.size();
        if (hold.mode == Mode::exclusive) --writes;
        CHECK(client.release(hold) ==
              (last ? ReleaseVerdict::released : ReleaseVerdict::still_held));
        const Holding holding = client.inspect(name);
        CHECK(holding.holds.size() == turn.size() - i - 1);
        if (!last) CHECK(holding.mode == (writes > 0 ? Mode::exclusive : Mode::shared));
      }
      CHECK(client.inspect(name).kind == Holding::Kind::none);
    } while (std::next_permutation(turn.begin(), turn.end()));
  });
}

TEST_CASE("shared: undoing a reader's claim releases it, and its read below a write hold") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    client.take(reader(name));
    const Claim claim = reader(name);
    client.take(claim);
    client.undo(claim);
    CHECK(client.inspect(name).owner_count == 1);
    const LockName other = fresh_name();
    const Claim nested = below(client.take(writer(other)).hold, reader(other));
    client.take(nested);
    client.undo(nested);
    CHECK(client.inspect(other).mode == Mode::exclusive);
    CHECK(client.inspect(other).holds.size() == 1);
  });
}

TEST_CASE(
    "a repeated nested claim joins the hold above it and takes nothing else, even if revoked") {
  each_store([](const Backing& backing) {
    for (const bool slots : {false, true}) {
      if (slots && !has_slots(backing)) continue;
      Client client(backing);
      const LockName name = fresh_name();
      const Claim claim = slots ? claim_slot(2, name) : reader(name);
      const Taken outer = client.take(claim);
      Claim again = claim;
      again.owner = claim_of(name).owner;
      again = below(outer.hold, std::move(again));
      client.take(again);
      CHECK(client.revoke(name, order()).verdict == RevokeVerdict::revoked);
      CHECK(client.must_be_busy(again).holding.owner_count == 1);
    }
  });
}

}  // namespace dlock::contract
