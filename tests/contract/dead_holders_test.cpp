// SPDX-License-Identifier: MIT
// A holder that died on this machine: the next claim releases its hold, and no other, on every
// store.
#include "store/dead_holders.hpp"

#include "base/host_name.hpp"
#include "base/user_name.hpp"
#include "sys/boot.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

// Returns the number of a process, and of its group, both of which have ended.
long number_of_the_dead() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

// The run of a claim that was renewed, with its processes: dead ones, unless a case says otherwise.
struct DeadRun {
  long dlock = number_of_the_dead();
  long guard = number_of_the_dead();
  long group = number_of_the_dead();
  std::string machine = pid_space();
  std::string host = host_name();

  Taken take(Client& client, Claim claim) const {
    claim.who.host = host;
    claim.who.pid = dlock;
    claim.who.user = user_name();
    Taken taken = client.take(claim);
    for (Hold& hold : taken.holds) {
      hold.who.machine = machine;
      hold.who.guard = guard;
      hold.who.group = group;
    }
    REQUIRE(client.renew(taken.holds).verdict == RenewVerdict::renewed);
    return taken;
  }
};

event::Acquired claims(Client& client, const Claim& claim) {
  return DeadHolders().acquire(client.store(), claim, Queueing::no, soon());
}

const Grant* grant_in(const event::Acquired& event) {
  REQUIRE(event.answer.has_value());
  return std::get_if<Grant>(&*event.answer);
}

}  // namespace

TEST_CASE("P42: the lock of a dead holder goes to the next claim at once") {
  each_store([](const Backing& backing) {
    Client dead(backing);
    Client next(backing);
    const LockName name = fresh_name();
    const Taken taken = DeadRun().take(dead, claim_of(name));
    next.must_be_busy(claim_of(name));
    const auto event = claims(next, claim_of(name));
    const Grant* const grant = grant_in(event);
    REQUIRE(grant != nullptr);
    CHECK((taken.hold.token == 0 || grant->holds.front().token > taken.hold.token));
    REQUIRE(event.reclaimed.size() == 1);
    REQUIRE(event.reclaimed.front().holding.holds.size() == 1);
    CHECK(event.reclaimed.front().holding.holds.front().id ==
          hold_id(taken.hold.owner, taken.hold.serial));
    CHECK(dead.renew(taken.hold).verdict == RenewVerdict::lost);
  });
}

TEST_CASE("P42: who only looks at the lock finds it free") {
  each_store([](const Backing& backing) {
    Client dead(backing);
    Client next(backing);
    const LockName name = fresh_name();
    DeadRun().take(dead, claim_of(name));
    const auto seen = DeadHolders().inspect(next.store(), name, 0, soon());
    REQUIRE(seen.answer.has_value());
    CHECK(seen.answer->kind == Holding::Kind::none);
    CHECK(seen.reclaimed.size() == 1);
  });
}

TEST_CASE("P42: a holder with a living process, or of another machine, keeps the lock") {
  each_store([](const Backing& backing) {
    for (const DeadRun& run : {DeadRun{.dlock = ::getpid()},
                               DeadRun{.guard = ::getpid()},
                               DeadRun{.group = ::getpid()},
                               DeadRun{.group = ::getpgrp()},
                               DeadRun{.machine = "another " + pid_space()},
                               DeadRun{.machine = ""},
                               DeadRun{.host = "another"}}) {
      Client holder(backing);
      Client next(backing);
      const LockName name = fresh_name();
      const Taken taken = run.take(holder, claim_of(name));
      const auto event = claims(next, claim_of(name));
      CHECK(grant_in(event) == nullptr);
      CHECK(event.reclaimed.empty());
      CHECK(holder.release(taken.hold) == ReleaseVerdict::released);
    }
  });
}

TEST_CASE("P42: a holder that was not renewed yet keeps the lock until its lease ends") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    Client next(backing);
    const LockName name = fresh_name();
    Claim claim = claim_of(name);
    claim.who.host = host_name();
    claim.who.pid = number_of_the_dead();
    claim.who.machine = pid_space();
    holder.take(claim);
    CHECK(grant_in(claims(next, claim_of(name))) == nullptr);
  });
}

TEST_CASE("P42: later renewals and checks leave the processes in the record") {
  each_store([](const Backing& backing) {
    Client holder(backing);
    const LockName name = fresh_name();
    const DeadRun run;
    const Taken taken = run.take(holder, claim_of(name));
    CHECK(holder.renew(taken.hold).verdict == RenewVerdict::renewed);
    CHECK(holder.renew(taken.holds).verdict == RenewVerdict::renewed);
    CHECK(holder.check(taken.hold).verdict == RenewVerdict::held);
    const Holding holding = holder.inspect(name);
    REQUIRE(holding.holds.size() == 1);
    const HoldRecord& record = holding.holds.front();
    CHECK(record.who.machine == run.machine);
    CHECK(record.who.guard == run.guard);
    CHECK(record.who.group == run.group);
    CHECK(record.who.command == some_holder().command);
    CHECK(record.token == taken.hold.token);
  });
}

TEST_CASE("P42: a lock that was taken by another after the look is not touched") {
  each_store([](const Backing& backing) {
    Client dead(backing);
    Client next(backing);
    const LockName name = fresh_name();
    const Taken before = DeadRun().take(dead, claim_of(name));
    const Holding seen = next.inspect(name);
    CHECK(dead.release(before.hold) == ReleaseVerdict::released);
    const Taken after = next.take(name);
    CHECK(DeadHolders().release(next.store(), name, 0, seen, soon()).empty());
    CHECK(next.check(after.hold).verdict == RenewVerdict::held);
    CHECK(next.release(after.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("P42: the hold of a nested run that lives keeps the lock of a dead outer run") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client next(backing);
    const LockName name = fresh_name();
    const Taken outer = DeadRun().take(client, claim_of(name));
    const Taken inner = client.take(claim_below(outer.hold));
    const auto event = claims(next, claim_of(name));
    CHECK(grant_in(event) == nullptr);
    CHECK(event.reclaimed.size() == 1);
    CHECK(client.inspect(name).owners[0].count == "1");
    CHECK(client.check(inner.hold).verdict == RenewVerdict::held);
    CHECK(client.release(inner.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("P42: of several readers only the dead ones go") {
  each_store_with(&StoreTraits::shared, [](const Backing& backing) {
    Client client(backing);
    Client next(backing);
    const LockName name = fresh_name();
    DeadRun().take(client, reader(name));
    const Taken living = DeadRun{.dlock = ::getpid()}.take(client, reader(name));
    DeadRun().take(client, reader(name));
    const auto event = claims(next, writer(name));
    CHECK(grant_in(event) == nullptr);
    CHECK(event.reclaimed.size() == 2);
    CHECK(next.inspect(name).owners.size() == 1);
    CHECK(client.release(living.hold) == ReleaseVerdict::released);
    next.take(writer(name));
  });
}

TEST_CASE("P42: a dead holder's slot goes to the next claim, the others stay taken") {
  each_store_with(&StoreTraits::slots, [](const Backing& backing) {
    Client client(backing);
    Client next(backing);
    const LockName name = fresh_name();
    const Taken dead = DeadRun().take(client, claim_slot(2, name));
    const Taken living = DeadRun{.dlock = ::getpid()}.take(client, claim_slot(2, name));
    const auto event = claims(next, claim_slot(2, name));
    const Grant* const grant = grant_in(event);
    REQUIRE(grant != nullptr);
    CHECK(grant->holds.front().slot == dead.hold.slot);
    CHECK(grant_in(claims(next, claim_slot(2, name))) == nullptr);
    CHECK(client.release(living.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("P42: of one of several names any may have a dead holder, not only the one shown") {
  each_store_with(&StoreTraits::one_of, [](const Backing& backing) {
    for (const std::size_t from : {0U, 1U, 2U}) {
      Client living(backing);
      Client dead(backing);
      Client next(backing);
      const std::vector<LockName> names{fresh_name(), fresh_name(), fresh_name()};
      living.take(names[0]);
      DeadRun().take(dead, claim_of(names[1]));
      living.take(names[2]);
      Claim claim = claim_of(names);
      claim.one_from = from;
      const auto event = claims(next, claim);
      const Grant* const grant = grant_in(event);
      REQUIRE(grant != nullptr);
      CHECK(grant->holds.front().name == names[1]);
      REQUIRE(event.reclaimed.size() == 1);
      CHECK(event.reclaimed.front().which == 1);
    }
  });
}

TEST_CASE("P42: each of several names may have a dead holder, and a dead holder several names") {
  each_store_with(&StoreTraits::several_names, [](const Backing& backing) {
    Client client(backing);
    Client next(backing);
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    DeadRun().take(client, claim_of(a));
    DeadRun().take(client, claim_of(b));
    const auto first = claims(next, claim_of({a, b}));
    REQUIRE(grant_in(first) != nullptr);
    REQUIRE(first.reclaimed.size() == 2);
    CHECK(first.reclaimed[0].which != first.reclaimed[1].which);
    CHECK(next.release(grant_in(first)->holds) == ReleaseVerdict::released);
    DeadRun().take(client, claim_of({a, b}));
    CHECK(grant_in(claims(next, claim_of(b))) != nullptr);
    CHECK(grant_in(claims(next, claim_of(a))) != nullptr);
  });
}

TEST_CASE("P42: a frozen lock stays frozen when its holder is dead") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    Client next(backing);
    const LockName name = fresh_name();
    DeadRun().take(client, claim_of(name));
    const FreezeOrder order{.owner = make_owner_id(7), .who = some_holder(), .lasts = 30s};
    REQUIRE(client.store().freeze(name, order, soon()).has_value());
    const auto event = claims(next, claim_of(name));
    CHECK(grant_in(event) == nullptr);
    CHECK(event.reclaimed.size() == 1);
    CHECK(next.inspect(name).frozen.has_value());
    CHECK(grant_in(claims(next, claim_of(name))) == nullptr);
  });
}

}  // namespace dlock::contract
