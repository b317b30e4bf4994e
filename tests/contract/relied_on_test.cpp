// SPDX-License-Identifier: MIT
#include "contract/lock_store_contract.hpp"

namespace dlock::contract {

namespace {

// Returns a claim as `dlock acquire` makes it.
Claim acquired(std::vector<LockName> names) {
  Claim claim = claim_of(std::move(names));
  claim.serial = serial_of(claim.owner);
  return claim;
}
Claim acquired(const LockName& name) {
  return acquired(std::vector{name});
}

// Returns a claim as a `dlock run` makes it whose hold above was taken by `dlock acquire`.
Claim relying_on(const Hold& hold) {
  Claim claim = claim_below(hold);
  claim.relies_on = {hold_id(hold.owner, hold.serial)};
  return claim;
}

}  // namespace

TEST_CASE("a claim that relies on a hold joins it, and is refused as lost if that hold was lost") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken step = client.take(acquired(name));
    CHECK(client.take(relying_on(step.hold)).hold.nested);
    client.revoke(name, order(/*now=*/true));
    client.must_be_lost(relying_on(step.hold));
    CHECK(is_free(client, name));

    const Taken other = client.take(name);
    client.must_be_lost(relying_on(step.hold));
    CHECK(client.release(step.hold) == ReleaseVerdict::not_held);
    client.must_be_lost(relying_on(step.hold));  // that release had nothing to release
    CHECK(client.release(other.hold) == ReleaseVerdict::released);
    CHECK_FALSE(client.take(claim_below(step.hold)).hold.nested);  // who does not rely on it
  });
}

TEST_CASE("a revoked hold is lost for claims that rely on it") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken step = client.take(acquired(name));
    const Claim nested = relying_on(step.hold);
    client.take(nested);
    client.revoke(name, order());
    client.must_be_lost(relying_on(step.hold));
    client.must_be_lost(nested);  // repeated, because its answer was lost
  });
}

TEST_CASE("after the release of a hold a claim that relied on it is a stranger's claim") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken step = client.take(acquired(name));
    CHECK(client.release(step.hold) == ReleaseVerdict::released);
    CHECK(client.release(step.hold) == ReleaseVerdict::not_held);  // a late copy
    const Taken run = client.take(relying_on(step.hold));
    CHECK_FALSE(run.hold.nested);
    client.must_be_busy(relying_on(step.hold));
    CHECK(client.release(run.hold) == ReleaseVerdict::released);
    // And it stays so when another hold of the name is lost.
    client.take(acquired(name));
    client.revoke(name, order(/*now=*/true));
    CHECK_FALSE(client.take(relying_on(step.hold)).hold.nested);
  });
}

TEST_CASE("a release that leaves a nested hold counts as an orderly release") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken step = client.take(acquired(name));
    const Taken run = client.take(relying_on(step.hold));
    CHECK(client.release(step.hold) == ReleaseVerdict::still_held);
    client.must_be_busy(relying_on(step.hold));
    CHECK(client.release(run.hold) == ReleaseVerdict::released);
    client.take(relying_on(step.hold));
  });
}

TEST_CASE("a claim of several names takes none if one of the holds that it relies on was lost") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const std::vector<LockName> names{fresh_name("a"), fresh_name("b")};
    const Taken step = client.take(acquired(names));
    Claim claim = relying_on(step.hold);
    claim.names = names;
    for (AncestorHold above : {ancestor_of(step.holds[0]), ancestor_of(step.holds[1])})
      claim.ancestors.push_back(std::move(above));
    client.revoke(names[1], order(/*now=*/true));
    client.must_be_lost(claim);
    CHECK(client.inspect(names[0]).owners[0].count == "1");
    CHECK(is_free(client, names[1]));
  });
}

TEST_CASE("a name that was never acquired is claimed as usual, beside a hold that is relied on") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName held = fresh_name("held");
    const LockName other = fresh_name("other");
    const Taken step = client.take(acquired(held));
    Claim claim = relying_on(step.hold);
    claim.names = {held, other};
    const Taken run = client.take(claim);
    CHECK(run.holds[0].nested);
    CHECK_FALSE(run.holds[1].nested);
    client.release(run.holds);
    CHECK(client.release(step.hold) == ReleaseVerdict::released);
    claim = relying_on(step.hold);
    claim.names = {other, held};
    client.take(claim);  // that release was one in good order
  });
}

TEST_CASE("the renewal of a hold that is gone says whether the hold was released in good order") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const Taken released = client.take(acquired(name));
    client.release(released.hold);
    const Taken lost = client.take(acquired(name));
    client.revoke(name, order(/*now=*/true));
    const Taken run = client.take(name);
    for (const Hold& hold : {released.hold, lost.hold}) {
      const bool in_good_order = hold.owner == released.hold.owner;
      CHECK(client.renew(hold).verdict == RenewVerdict::lost);
      CHECK(client.renew(hold).released == in_good_order);
      CHECK(client.check(hold).verdict == RenewVerdict::lost);
      CHECK(client.check(hold).released == in_good_order);
    }
    client.release(run.hold);
    CHECK_FALSE(client.renew(run.hold).released);  // of a run nothing is noted
  });
}

TEST_CASE("the newest hundred releases are remembered") {
  each_store([](const Backing& backing) {
    Client client(backing);
    const LockName name = fresh_name();
    const auto come_and_go = [&] {
      const Taken step = client.take(acquired(name));
      client.release(step.hold);
      return step.hold;
    };
    const Hold first = come_and_go();
    for (int i = 0; i < 99; ++i)
      come_and_go();
    CHECK(client.check(first).released);
    for (int i = 0; i < 20; ++i)  // of those of the same millisecond the order is not known
      come_and_go();
    CHECK_FALSE(client.check(first).released);
  });
}

}  // namespace dlock::contract
