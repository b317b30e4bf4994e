// SPDX-License-Identifier: MIT
// What a holder does between two renewals: check() says whether the hold is still ours and changes
// nothing; a watched hold gets a message when another client changes it.
#include "sys/wake_up.hpp"

#include <poll.h>

#include <thread>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

// A holder that watches its hold. Watching begins to count with the holder's check.
struct Watcher {
  explicit Watcher(const Backing& backing, const Interrupt* interrupt = nullptr)
      : client(backing, interrupt), hold(client.take(name).hold) {
    client.watch_hold(hold);
    CHECK(client.check(hold).verdict == RenewVerdict::held);
  }
  bool has_news() { return client.await_hand_off(soon()) == HandOff::changed; }
  bool has_no_news(Duration for_so_long = 100ms) {
    return client.await_hand_off(BootClock::now() + for_so_long) == HandOff::timed_out;
  }
  LockName name = fresh_name();
  Client client;
  Hold hold;
};

}  // namespace

TEST_CASE("check: a hold that is well is held, and its lease stays as it is") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    Hold hold = client.take(name, 5s).hold;
    hold.ttl = 60s;
    const Time before = BootClock::now();
    const RenewReply reply = client.check(hold);
    CHECK(reply.verdict == RenewVerdict::held);
    CHECK(reply.sent_at >= before);
    const Holding holding = client.inspect(name);
    CHECK(holding.lease_left.within().value() <= 5s);
    REQUIRE(holding.holds.size() == 1);
    CHECK(holding.holds[0].token == hold.token);
    CHECK(client.release(hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("check: a hold that was released, overtaken or has ended is lost, and is not changed") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client other(backing);
    const LockName name = fresh_name();
    const Hold released = client.take(name).hold;
    CHECK(client.release(released) == ReleaseVerdict::released);
    CHECK(client.check(released).verdict == RenewVerdict::lost);
    CHECK(client.inspect(name).kind == Holding::Kind::none);
    const Hold ended = client.take(name, 200ms).hold;
    const Hold theirs = other.take_eventually(claim_of(name)).hold;
    const RenewReply reply = client.check(ended);
    CHECK(reply.verdict == RenewVerdict::lost);
    CHECK(reply.holding.owners.at(0).id == theirs.owner);
    CHECK(other.check(theirs).verdict == RenewVerdict::held);
  });
}

TEST_CASE(
    "check: a revoked hold is reported with the revoker's name, and its lease is not extended") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client admin(backing);
    const LockName name = fresh_name();
    const Hold hold = client.take(name, 20s).hold;
    CHECK(admin.revoke(name, order(false)).verdict == RevokeVerdict::revoked);
    const RenewReply reply = client.check(hold);
    CHECK(reply.verdict == RenewVerdict::revoked);
    CHECK(reply.revoked_by == "bob@ops");
    CHECK(client.inspect(name).lease_left.within().value() > 10s);
    CHECK(client.release(hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("watch: a holder is notified when its lock is deleted") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client admin(backing);
    CHECK(admin.revoke(watcher.name, order(true)).verdict == RevokeVerdict::deleted);
    CHECK(watcher.has_news());
    CHECK(watcher.client.check(watcher.hold).verdict == RenewVerdict::lost);
  });
}

TEST_CASE("watch: a holder is notified when its lock goes to another owner") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client admin(backing);
    CHECK(admin.revoke(watcher.name, order(true)).verdict == RevokeVerdict::deleted);
    admin.take(watcher.name);
    CHECK(watcher.has_news());
    CHECK(watcher.client.check(watcher.hold).verdict == RenewVerdict::lost);
  });
}

TEST_CASE("watch: a holder is notified when its lock is revoked") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client admin(backing);
    CHECK(admin.revoke(watcher.name, order(false)).verdict == RevokeVerdict::revoked);
    CHECK(watcher.has_news());
    CHECK(watcher.client.check(watcher.hold).verdict == RenewVerdict::revoked);
  });
}

TEST_CASE("watch: a change between watching and waiting is not missed") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client admin(backing);
    CHECK(admin.revoke(watcher.name, order(true)).verdict == RevokeVerdict::deleted);
    ::poll(nullptr, 0, 50);
    CHECK(watcher.has_news());
  });
}

TEST_CASE("watch: own renewals, own checks and refused claims of others do not notify a holder") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client other(backing);
    for (int i = 0; i < 5; ++i) {
      CHECK(watcher.client.renew(watcher.hold).verdict == RenewVerdict::renewed);
      CHECK(watcher.client.check(watcher.hold).verdict == RenewVerdict::held);
      other.wait_in_line();
      other.must_be_busy(claim_of(watcher.name));
    }
    CHECK(watcher.has_no_news());
  });
}

TEST_CASE("watch: changes of other names do not notify a holder") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client other(backing);
    const LockName name = fresh_name();
    for (int i = 0; i < 5; ++i) {
      const Hold theirs = other.take(name).hold;
      CHECK(other.release(theirs) == ReleaseVerdict::released);
    }
    other.take(name);
    CHECK(other.revoke(name, order(true)).verdict == RevokeVerdict::deleted);
    CHECK(watcher.has_no_news());
  });
}

TEST_CASE("watch: a renewal does not end the watch, and a later loss is noticed") {
  each_store([](const Backing& backing) {
    Watcher watcher(backing);
    Client admin(backing);
    CHECK(watcher.has_no_news(20ms));
    CHECK(watcher.client.renew(watcher.hold).verdict == RenewVerdict::renewed);
    CHECK(watcher.has_no_news(20ms));
    CHECK(admin.revoke(watcher.name, order(true)).verdict == RevokeVerdict::deleted);
    CHECK(watcher.has_news());
  });
}

TEST_CASE("watch: an interrupt does not end the watch") {
  each_store([](const Backing& backing) {
    const WakeUp interrupt;
    Watcher watcher(backing, &interrupt);
    Client admin(backing);
    for (int i = 0; i < 3; ++i) {
      std::thread raising([&] {
        ::poll(nullptr, 0, 20);
        interrupt.raise();
      });
      const auto news = watcher.client.store().await_hand_off(soon());
      raising.join();
      REQUIRE_FALSE(news.has_value());
      CHECK(news.error().code == Errc::cancelled);
      interrupt.clear();
      CHECK(watcher.client.renew(watcher.hold).verdict == RenewVerdict::renewed);
    }
    CHECK(admin.revoke(watcher.name, order(true)).verdict == RevokeVerdict::deleted);
    CHECK(watcher.has_news());
  });
}

TEST_CASE("watch: a waiter that was granted the lock continues to watch its hold") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client waiter(backing);
    const LockName name = fresh_name();
    const Hold first = holder.take(name).hold;
    const Claim claim = claim_of(name);
    waiter.watch(claim);
    waiter.must_be_busy(claim);
    CHECK(holder.release(first) == ReleaseVerdict::released);
    const Hold hold = waiter.take_eventually(claim).hold;
    waiter.watch_hold(hold);
    CHECK(waiter.check(hold).verdict == RenewVerdict::held);
    CHECK(holder.revoke(name, order(false)).verdict == RevokeVerdict::revoked);
    CHECK(waiter.await_hand_off(soon()) == HandOff::changed);
    CHECK(waiter.check(hold).verdict == RenewVerdict::revoked);
  });
}

}  // namespace dlock::contract
