// SPDX-License-Identifier: MIT
#include "store/table/lease_table.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <variant>

#include "unit/lease_words.hpp"

namespace dlock::lease_table {

TEST_CASE("a lease is live until the instant it expires, and not at it") {
  StoredLock state;
  CHECK_FALSE(is_live(state, StoreTime(0s)));
  taken(state, claim_of("o", "s", 10s), at(100s));
  CHECK(lease_of(state).expires == StoreTime(110s));
  CHECK(is_live(state, StoreTime(110s) - 1ns));
  CHECK_FALSE(is_live(state, StoreTime(110s)));
}

TEST_CASE("a grant counts from when the claim was sent, the lease from when it was granted") {
  StoredLock state;
  const AcquireReply reply = acquire(state, claim_of("o", "s", 10s), at(100s));
  CHECK(std::get<Grant>(reply).sent_at == Time(100s) - 1ms);
  CHECK(store_time(std::get<Grant>(reply).sent_at + 10s) <= lease_of(state).expires);
}

TEST_CASE("a token is the wall clock in microseconds, or one more than the last") {
  StoredLock state;
  CHECK(taken(state, claim_of("o", "s"), at(100s)).token == k_wall_us);
  CHECK(taken(state, claim_of("p", "t"), at(200s, k_wall_us - 5)).token == k_wall_us + 1);
  CHECK(taken(state, claim_of("q", "u"), at(300s, k_wall_us + 9)).token == k_wall_us + 9);
  CHECK(taken(state, claim_of("r", "v"), at(400s, -1)).token == k_wall_us + 10);
}

TEST_CASE("a new lease drops the fields of a dead one") {
  StoredLock state;
  const Hold first = taken(state, claim_of("o", "s"), at(0s));
  taken(state, claim_below(first, "p", "t"), at(0s));
  CHECK(revoke(state, order_by("bob"), at(1s)).verdict == RevokeVerdict::revoked);
  const Hold next = taken(state, claim_of("q", "u"), at(60s));
  CHECK(state.leases.size() == 1);
  CHECK(lease_of(state, "q").holds.size() == 1);
  CHECK_FALSE(lease_of(state, "q").revoked_by.has_value());
  CHECK(renew(state, next, at(61s)).verdict == RenewVerdict::renewed);
}

TEST_CASE("a repeated claim whose lease has expired is a new grant") {
  StoredLock state;
  const FencingToken first = taken(state, claim_of("o", "s"), at(0s)).token;
  CHECK(taken(state, claim_of("o", "s"), at(60s)).token > first);
}

TEST_CASE("a stranger: the same owner with another serial") {
  StoredLock state;
  taken(state, claim_of("o", "s"), at(0s));
  CHECK(is_busy(state, claim_of("o", "t"), at(1s)));
}

TEST_CASE("a stranger: the same serial under another owner") {
  StoredLock state;
  taken(state, claim_of("o", "s"), at(0s));
  CHECK(is_busy(state, claim_of("p", "s"), at(1s)));
}

TEST_CASE("a nested claim that is repeated is granted again after its ancestor released") {
  StoredLock state;
  const Hold parent = taken(state, claim_of("o", "s"), at(0s));
  const Claim claim = claim_below(parent, "p", "t");
  taken(state, claim, at(1s));
  CHECK(release(state, parent, at(2s)) == ReleaseVerdict::still_held);
  const Hold again = taken(state, claim, at(3s));
  CHECK(again.nested);
  CHECK(again.owner == "o");
  CHECK(lease_of(state).holds.size() == 1);
}

TEST_CASE("no claim joins an expired ancestor; it gets a lease of its own") {
  StoredLock state;
  const Hold parent = taken(state, claim_of("o", "s"), at(0s));
  const Hold child = taken(state, claim_below(parent, "p", "t"), at(10s));
  CHECK_FALSE(child.nested);
  CHECK(child.owner == "p");
}

TEST_CASE("a nested hold has its own start and its parent's token") {
  StoredLock state;
  const Hold parent = taken(state, claim_of("o", "s"), at(0s));
  const Hold child = taken(state, claim_below(parent, "p", "t"), at(5s, k_wall_us + 5'000'000));
  CHECK(child.token == parent.token);
  CHECK(child.since_ms == parent.since_ms + 5000);
}

TEST_CASE("a late copy of a renewal does not bring a released hold back") {
  StoredLock state;
  const Hold parent = taken(state, claim_of("o", "s"), at(0s));
  const Hold child = taken(state, claim_below(parent, "p", "t"), at(1s));
  CHECK(release(state, child, at(2s)) == ReleaseVerdict::still_held);
  CHECK(renew(state, child, at(3s)).verdict == RenewVerdict::renewed);
  CHECK_FALSE(lease_of(state).holds.contains("t"));
  CHECK(release(state, parent, at(4s)) == ReleaseVerdict::released);
}

TEST_CASE("a check reports the state of the hold, and changes nothing") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s", 10s), at(0s));
  const RenewReply held = check(state, hold, at(9s));
  CHECK(held.verdict == RenewVerdict::held);
  CHECK(held.sent_at == Time(9s) - 1ms);
  CHECK(lease_of(state).expires == StoreTime(10s));
  CHECK(revoke(state, order_by("bob"), at(9s)).verdict == RevokeVerdict::revoked);
  CHECK(check(state, hold, at(9s)).verdict == RenewVerdict::revoked);
  CHECK(check(state, hold, at(9s)).revoked_by == "bob");
  CHECK(check(state, hold, at(10s)).verdict == RenewVerdict::lost);
  CHECK(check(state, hold, at(10s)).holding.kind == Holding::Kind::none);
  taken(state, claim_of("p", "t"), at(11s));
  CHECK(check(state, hold, at(12s)).holding.owners.at(0).id == "p");
}

TEST_CASE("a check and a renewal find the same, whatever the state was") {
  for (const Duration when : {Duration(1s), Duration(9999ms), Duration(10s), Duration(20s)}) {
    for (const bool revoked : {true, false}) {
      StoredLock state;
      const Hold hold = taken(state, claim_of("o", "s", 10s), at(0s));
      if (revoked) (void)revoke(state, order_by("bob"), at(500ms));
      const RenewReply looked = check(state, hold, at(when));
      const RenewReply renewed = renew(state, hold, at(when));
      CHECK((looked.verdict == RenewVerdict::held) == (renewed.verdict == RenewVerdict::renewed));
      if (looked.verdict != RenewVerdict::held) CHECK(looked.verdict == renewed.verdict);
      CHECK(looked.revoked_by == renewed.revoked_by);
      CHECK(looked.holding.kind == renewed.holding.kind);
    }
  }
}

TEST_CASE("a lost renewal says how the lock is held now") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s"), at(0s));
  CHECK(renew(state, hold, at(10s)).holding.kind == Holding::Kind::none);
  taken(state, claim_of("p", "t"), at(11s));
  const RenewReply lost = renew(state, hold, at(12s));
  CHECK(lost.verdict == RenewVerdict::lost);
  REQUIRE(lost.holding.holds.size() == 1);
  CHECK(lost.holding.holds.front().who.host == "db1");
  make_free(state);
  CHECK(renew(state, hold, at(13s)).holding.kind == Holding::Kind::none);
}

TEST_CASE("an empty owner holds nothing") {
  StoredLock state;
  Hold hold = taken(state, claim_of("o", "s"), at(0s));
  make_free(state);
  hold.owner.clear();
  CHECK(renew(state, hold, at(1s)).verdict == RenewVerdict::lost);
  CHECK(release(state, hold, at(1s)) == ReleaseVerdict::not_held);
}

TEST_CASE("the token survives release, revocation and the end of the lease") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s"), at(0s));
  CHECK(release(state, hold, at(1s)) == ReleaseVerdict::released);
  CHECK(state.token == hold.token);
  taken(state, claim_of("p", "t"), at(2s));
  CHECK(revoke(state, order_by("bob", true), at(3s)).verdict == RevokeVerdict::deleted);
  CHECK(state.token == hold.token + 1);
}

TEST_CASE("a revocation may be repeated, and the last revoker is named") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s"), at(0s));
  CHECK(revoke(state, order_by("bob"), at(1s)).verdict == RevokeVerdict::revoked);
  const RevokeReply again = revoke(state, order_by("eve"), at(2s));
  CHECK(again.verdict == RevokeVerdict::revoked);
  CHECK(again.before.revoked_by == "bob");
  CHECK(renew(state, hold, at(3s)).revoked_by == "eve");
  CHECK(lease_of(state).expires == StoreTime(10s));
}

TEST_CASE("a lease of unknown end is neither exact nor endless") {
  StoredLock state;
  taken(state, claim_of("o", "s"), at(0s));
  state.leases.begin()->second.at_most = true;
  CHECK(inspect(state, at(1s)).lease_left == LeaseLeft::at_most(9s));
  StoredLock foreign;
  foreign.foreign = {.type = "ZooKeeper node", .who = "x"};
  CHECK(inspect(foreign, at(1s)).lease_left == LeaseLeft());
  foreign.foreign->endless = true;
  CHECK(inspect(foreign, at(1s)).lease_left == LeaseLeft::never());
}

TEST_CASE("an expired lease looks free") {
  StoredLock state;
  taken(state, claim_of("o", "s"), at(0s));
  CHECK(inspect(state, at(9s)).lease_left == Duration(1s));
  const Holding after = inspect(state, at(10s));
  CHECK(after.kind == Holding::Kind::none);
  CHECK(after.owners.empty());
  CHECK(after.lease_left == LeaseLeft());
  CHECK(after.now_ms == k_wall_us / 1000);
}

TEST_CASE("globs match whole names, bytes as they are") {
  CHECK(glob_matches("*", ".hidden/name"));
  CHECK(glob_matches("a?c", "a/c"));
  CHECK(glob_matches("[a-c]x", "bx"));
  CHECK_FALSE(glob_matches("[a-c]x", "dx"));
  CHECK_FALSE(glob_matches("a", "ab"));
  CHECK(glob_matches("\\*", "*"));
  CHECK_FALSE(glob_matches("\\*", "x"));
  CHECK(glob_matches("\xff*", "\xff\xfe"));
}

}  // namespace dlock::lease_table
