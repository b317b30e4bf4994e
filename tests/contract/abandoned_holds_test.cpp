// SPDX-License-Identifier: MIT
// Holds of a nested run that was killed: the run above it releases them, on every store.
#include "store/abandoned_holds.hpp"

#include "sys/boot.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

// Returns the number of a process that has ended.
pid_t dead_process() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

Claim nested_claim(const Hold& above, long pid, std::string machine = pid_space()) {
  Claim claim = claim_below(above);
  claim.who.pid = pid;
  claim.who.machine = std::move(machine);
  return claim;
}

ReleaseVerdict release_all(Client& client, const Hold& hold) {
  const auto verdict = release_with_abandoned(client.store(), {hold}, {}, soon());
  REQUIRE(verdict);
  return *verdict;
}

}  // namespace

TEST_CASE("K03: the release of the outermost run releases the holds of dead nested runs") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client stranger(backing);
    const LockName name = fresh_name();
    const Taken outer = client.take(name);
    const Taken inner = client.take(nested_claim(outer.hold, dead_process()));
    client.take(nested_claim(inner.hold, dead_process()));
    CHECK(client.inspect(name).owners[0].count == "3");
    CHECK(release_all(client, outer.hold) == ReleaseVerdict::released);
    stranger.take(name);
    CHECK(release_all(client, outer.hold) == ReleaseVerdict::not_held);
  });
}

TEST_CASE(
    "K03: the hold of a living nested run is kept, those of dead ones beside it are released") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken outer = client.take(name);
    client.take(nested_claim(outer.hold, dead_process()));
    const Taken living = client.take(nested_claim(outer.hold, ::getpid()));
    CHECK(release_all(client, outer.hold) == ReleaseVerdict::still_held);
    CHECK(client.inspect(name).owners[0].count == "1");
    CHECK(client.release(living.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE("K03: the hold of a nested run on another or an unknown machine is kept") {
  each_store([](const Backing& backing) {
    for (const std::string& machine : {std::string(), "another " + pid_space()}) {
      Client client(backing);
      const LockName name = fresh_name();
      const Taken outer = client.take(name);
      client.take(nested_claim(outer.hold, dead_process(), machine));
      CHECK(release_all(client, outer.hold) == ReleaseVerdict::still_held);
      CHECK(client.inspect(name).owners[0].count == "1");
    }
  });
}

TEST_CASE("K03: a nested run releases its own hold only") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken outer = client.take(name);
    const Taken inner = client.take(nested_claim(outer.hold, ::getpid()));
    client.take(nested_claim(inner.hold, dead_process()));
    CHECK(release_all(client, inner.hold) == ReleaseVerdict::still_held);
    CHECK(client.inspect(name).owners[0].count == "2");
    CHECK(release_all(client, outer.hold) == ReleaseVerdict::released);
  });
}

TEST_CASE(
    "K03: each of several names is checked, and a living nested run keeps only its own name") {
  each_store([](const Backing& backing) {
    Client client(backing);
    Client stranger(backing);
    const LockName a = fresh_name("a");
    const LockName b = fresh_name("b");
    const Taken both = client.take(claim_of({a, b}));
    client.take(nested_claim(both.holds[0], dead_process()));
    client.take(nested_claim(both.holds[1], dead_process()));
    CHECK(*release_with_abandoned(client.store(), both.holds, {}, soon()) ==
          ReleaseVerdict::released);
    const Taken again = stranger.take(claim_of({b, a}));
    stranger.take(nested_claim(again.holds[0], dead_process()));
    stranger.take(nested_claim(again.holds[1], ::getpid()));
    CHECK(*release_with_abandoned(stranger.store(), again.holds, {}, soon()) ==
          ReleaseVerdict::still_held);
    client.take(b);
    client.must_be_busy(claim_of(a));
  });
}

TEST_CASE(
    "K03: the release keeps the lock for --min-hold though the last hold is that of a dead run") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken outer = client.take(name);
    client.take(nested_claim(outer.hold, dead_process()));
    const ReleaseOptions options{.keep = 30s, .tell_for = 1h};
    CHECK(*release_with_abandoned(client.store(), outer.holds, options, soon()) ==
          ReleaseVerdict::released);
    const Holding holding = client.inspect(name);
    REQUIRE(holding.holds.size() == 1);
    CHECK(holding.holds[0].kept);
    client.must_be_busy(claim_of(name));
  });
}

TEST_CASE(
    "K03: a writer's lock is kept in the writer's mode, though a nested reader of it is dead") {
  each_store_with(&StoreTraits::keep, [](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken outer = client.take(writer(name));
    Claim nested = nested_claim(outer.hold, dead_process());
    nested.mode = Mode::shared;
    client.take(nested);
    CHECK(*release_with_abandoned(client.store(), outer.holds, {.keep = 30s}, soon()) ==
          ReleaseVerdict::released);
    const Holding holding = client.inspect(name);
    REQUIRE(holding.holds.size() == 1);
    CHECK(holding.holds[0].kept);
    client.must_be_busy(reader(name));
  });
}

}  // namespace dlock::contract
