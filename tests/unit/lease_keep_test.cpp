// SPDX-License-Identifier: MIT
// What outlives a run in the lease table: a kept lease and a recorded success; and claims of
// several names.
#include "store/table/lease_table.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <variant>

#include "unit/lease_words.hpp"

namespace dlock::lease_table {

TEST_CASE("keep: a kept lock is taken for exactly its time, without a holder") {
  for (const Mode mode : k_all_modes) {
    for (const Duration ttl : {Duration(1s), Duration(60s)}) {
      StoredLock state;
      const Hold hold = taken(state, claim_as(mode, "o", ttl), at(0s));
      CHECK(release(state, hold, at(500ms), {.keep = 20s}) == ReleaseVerdict::released);
      CHECK(lease_of(state).expires == StoreTime(20500ms));
      const Holding holding = inspect(state, at(1s));
      REQUIRE(holding.holds.size() == 1);
      CHECK(holding.holds[0].kept);
      CHECK(holding.holds[0].id == "o#kept");
      CHECK(holding.holds[0].token == hold.token);
      CHECK(holding.mode == mode);
      const bool beside = mode >= Mode::shared;
      CHECK(is_busy(state, claim_as(mode, "p"), at(1s)) == !beside);
      CHECK(renew(state, hold, at(2s)).verdict == RenewVerdict::lost);
      CHECK(release(state, hold, at(2s)) == ReleaseVerdict::not_held);
      CHECK(lease_of(state).expires == StoreTime(20500ms));
    }
  }
}

TEST_CASE("keep: a kept lock cannot be joined, renewed, released or claimed by its name") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s"), at(0s));
  CHECK(release(state, hold, at(1s), {.keep = 20s}) == ReleaseVerdict::released);
  Hold forged = hold;
  forged.serial = "kept";
  CHECK(is_busy(state, claim_below(forged, "p", "t"), at(2s)));
  CHECK(is_busy(state, claim_of("o", "kept"), at(2s)));
  CHECK(check(state, forged, at(2s)).verdict == RenewVerdict::lost);
  CHECK(renew(state, forged, at(2s)).verdict == RenewVerdict::lost);
  CHECK(release(state, forged, at(2s)) == ReleaseVerdict::not_held);
  CHECK(revoke(state, order_by("bob"), at(3s)).verdict == RevokeVerdict::deleted);
  CHECK_FALSE(is_live(state, StoreTime(3s)));
}

TEST_CASE("keep: only the last hold of an owner is kept, and a nested hold never") {
  StoredLock state;
  const ReleaseOptions keep{.keep = 60s};
  const Hold parent = taken(state, claim_of("o", "s"), at(0s));
  const Hold child = taken(state, claim_below(parent, "p", "t"), at(0s));
  CHECK(release(state, parent, at(1s), keep) == ReleaseVerdict::still_held);
  CHECK(release(state, child, at(1s), keep) == ReleaseVerdict::released);
  CHECK_FALSE(is_live(state, StoreTime(1s)));
}

TEST_CASE("once per: a success counts from its grant, and each claim sets its own interval") {
  const auto wall = [](std::int64_t seconds) { return k_wall_us + seconds * 1'000'000; };
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s"), at(0s, wall(0)));
  CHECK(release(state, hold, at(5s, wall(5)), {.tell_for = 60s}) == ReleaseVerdict::released);
  Claim claim = claim_of("p", "t");
  const auto done_ago = [&](Duration once_per, std::int64_t seconds) -> std::optional<Duration> {
    StoredLock copy = state;
    claim.once_per = once_per;
    const AcquireReply reply = acquire(copy, claim, at(100s, wall(seconds)));
    if (const auto* done = std::get_if<Done>(&reply)) return done->ago;
    CHECK(std::holds_alternative<Grant>(reply));
    return std::nullopt;
  };
  CHECK(done_ago(30s, 29) == Duration(29s));
  CHECK_FALSE(done_ago(30s, 30).has_value());
  CHECK_FALSE(done_ago(0s, 6).has_value());
  CHECK(done_ago(90s, 59) == Duration(59s));
  CHECK_FALSE(done_ago(90s, 60).has_value());       // forgotten
  CHECK(done_ago(30s, -10) == Duration(0s));        // the clock was set back a little,
  CHECK_FALSE(done_ago(30s, -100000).has_value());  // or so far that it says nothing
}

TEST_CASE("once per: an earlier success neither hides the newest nor shortens its memory") {
  StoredLock state;
  const Hold one = taken(state, claim_of("o", "s"), at(0s, k_wall_us));
  CHECK(release(state, one, at(1s), {.tell_for = 1h}) == ReleaseVerdict::released);
  const Hold two = taken(state, claim_of("p", "t"), at(2s, k_wall_us + 2'000'000));
  CHECK(release(state, two, at(3s), {.tell_for = 1s}) == ReleaseVerdict::released);
  REQUIRE(state.success.has_value());
  CHECK(state.success->since_ms == k_wall_us / 1000 + 2000);
  CHECK(state.success->until_ms == k_wall_us / 1000 + 3'600'000);
  make_free(state);
  CHECK(state.success.has_value());
}

TEST_CASE("once per: a success that is over says nothing of an older run that ends later") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s"), at(0s, k_wall_us));
  state.success = Success{k_wall_us / 1000 + 500, k_wall_us / 1000 + 900};
  CHECK(release(state, hold, at(1s, k_wall_us + 1'000'000), {.tell_for = 1h}) ==
        ReleaseVerdict::released);
  REQUIRE(state.success.has_value());
  CHECK(state.success->since_ms == k_wall_us / 1000);
}

TEST_CASE("once per: an own hold, and one of an ancestor, count before a success") {
  StoredLock state;
  state.success = Success{k_wall_us / 1000 - 1, k_wall_us / 1000 + 60'000};
  Claim claim = claim_of("o", "s");
  const Hold hold = taken(state, claim, at(0s));
  claim.once_per = 1h;
  CHECK(taken(state, claim, at(1s)).token == hold.token);
  Claim nested = claim_below(hold, "p", "t");
  nested.once_per = 1h;
  CHECK(taken(state, nested, at(1s)).nested);
  Claim stranger = claim_of("q", "u");
  stranger.once_per = 1h;
  CHECK(std::holds_alternative<Done>(acquire(state, stranger, at(1s))));
}

TEST_CASE("several names: all or none, and the refusal has the first name that is in the way") {
  StoredLock a;
  StoredLock b;
  const Hold other = taken(b, claim_as(Mode::plain, "o"), at(0s));
  const Claim claim = for_both(claim_as(Mode::plain, "p"));
  const auto refused = acquire(States{&a, &b}, claim, at(1s));
  REQUIRE(refused.has_value());
  REQUIRE(std::holds_alternative<Refusal>(*refused));
  CHECK(std::get<Refusal>(*refused).which == 1);
  CHECK_FALSE(is_live(a, StoreTime(1s)));
  CHECK(a.token == 0);
  CHECK(release(b, other, at(2s)) == ReleaseVerdict::released);
  const auto granted = acquire(States{&a, &b}, claim, at(2s));
  REQUIRE(granted.has_value());
  const Holds holds = std::get<Grant>(*granted).holds;
  REQUIRE(holds.size() == 2);
  CHECK(holds[0].name == name_of("a"));
  CHECK(holds[1].name == name_of("b"));
  CHECK(holds[0].serial == holds[1].serial);
  CHECK(holds[1].token == b.token);
}

TEST_CASE("several names: a deadlock is reported before any other refusal") {
  StoredLock a;
  StoredLock b;
  taken(a, claim_as(Mode::plain, "o"), at(0s));
  const Hold above = taken(b, claim_as(Mode::shared, "p"), at(0s));
  const auto self =
      acquire(States{&a, &b}, for_both(below(above, claim_as(Mode::exclusive, "q"))), at(1s));
  REQUIRE(self.has_value());
  CHECK(std::get<Refusal>(*self).by_ancestor);
  CHECK(std::get<Refusal>(*self).which == 1);
}

TEST_CASE("several names: the loss of one name is a loss, and the others are released") {
  StoredLock a;
  StoredLock b;
  const auto granted = acquire(States{&a, &b}, for_both(claim_as(Mode::plain, "o")), at(0s));
  REQUIRE(granted.has_value());
  const Holds holds = std::get<Grant>(*granted).holds;
  CHECK(renew(States{&a, &b}, holds, at(5s)).verdict == RenewVerdict::renewed);
  CHECK(lease_of(a).expires == StoreTime(15s));
  CHECK(lease_of(b).expires == StoreTime(15s));
  CHECK(revoke(b, order_by("bob"), at(6s)).verdict == RevokeVerdict::revoked);
  CHECK(renew(States{&a, &b}, holds, at(6s)).verdict == RenewVerdict::revoked);
  CHECK(lease_of(a).expires == StoreTime(15s));
  CHECK(revoke(b, order_by("bob", true), at(6s)).verdict == RevokeVerdict::deleted);
  const RenewReply lost = renew(States{&a, &b}, holds, at(7s));
  CHECK(lost.verdict == RenewVerdict::lost);
  CHECK(lost.some_left);
  CHECK(lost.which == 1);
  CHECK(lost.holding.kind == Holding::Kind::none);
  CHECK(release(States{&a, &b}, holds, {}, at(8s)) == ReleaseVerdict::not_held);
  CHECK_FALSE(is_live(a, StoreTime(8s)));
  CHECK_FALSE(renew(States{&a, &b}, holds, at(9s)).some_left);
}

TEST_CASE("several names: some may be joined and others taken, and all of them must be done") {
  StoredLock a;
  StoredLock b;
  const Hold above = taken(a, claim_as(Mode::plain, "o"), at(0s));
  Claim claim = for_both(below(above, claim_as(Mode::plain, "p")));
  const auto granted = acquire(States{&a, &b}, claim, at(1s));
  REQUIRE(granted.has_value());
  const Holds holds = std::get<Grant>(*granted).holds;
  CHECK(holds.at(0).nested);
  CHECK(holds.at(0).owner == "o");
  CHECK_FALSE(holds.at(1).nested);
  CHECK(holds.at(1).owner == "p");
  const ReleaseOptions told{.tell_for = 1h};
  CHECK(release(States{&a, &b}, holds, told, at(2s)) == ReleaseVerdict::still_held);
  CHECK_FALSE(is_live(b, StoreTime(2s)));
  Claim again = for_both(claim_as(Mode::plain, "q"));
  again.once_per = 1h;
  CHECK(std::holds_alternative<Done>(*acquire(States{&a, &b}, again, at(3s))));
  b.success.reset();
  CHECK(std::holds_alternative<Refusal>(*acquire(States{&a, &b}, again, at(3s))));
}

}  // namespace dlock::lease_table
