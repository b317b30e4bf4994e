// SPDX-License-Identifier: MIT
// Which owners can hold a lock at the same time: the lease table in every mode.
#include "store/table/lease_table.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "unit/lease_words.hpp"

namespace dlock::lease_table {

namespace {}  // namespace

TEST_CASE("modes: only readers hold a name beside readers, and slots beside slots") {
  for (const Mode first : k_all_modes) {
    for (const Mode second : k_all_modes) {
      CAPTURE(static_cast<int>(first));
      CAPTURE(static_cast<int>(second));
      StoredLock state;
      const Hold hold = taken(state, claim_as(first, "o"), at(0s));
      CHECK(hold.mode == first);
      const bool beside = first == second && first >= Mode::shared;
      CHECK(is_busy(state, claim_as(second, "p"), at(1s)) == !beside);
      CHECK(state.leases.size() == (beside ? 2 : 1));
      CHECK(release(state, hold, at(2s)) == ReleaseVerdict::released);
      if (!beside) taken(state, claim_as(second, "p"), at(2s));
    }
  }
}

TEST_CASE("modes: the answer to a nested claim below each mode") {
  using Got = std::optional<Mode>;  // nullopt: it would wait for its own ancestor
  const auto got = [](Mode above, Mode claimed) {
    StoredLock state;
    const Hold hold = taken(state, claim_as(above, "o"), at(0s));
    const AcquireReply reply = acquire(state, below(hold, claim_as(claimed, "p")), at(1s));
    if (const auto* refusal = std::get_if<Refusal>(&reply)) {
      CHECK(refusal->by_ancestor);
      CHECK(lease_of(state).holds.size() == 1);
      return Got();
    }
    const Hold& nested = std::get<Grant>(reply).holds.at(0);
    CHECK(nested.nested);
    CHECK(nested.owner == "o");
    CHECK(nested.token == hold.token);
    CHECK(nested.slot == hold.slot);
    CHECK(lease_of(state).holds.size() == 2);
    return Got(nested.mode);
  };
  for (const Mode claimed : {Mode::plain, Mode::exclusive, Mode::shared}) {
    CHECK(got(Mode::plain, claimed) == Mode::plain);
    CHECK(got(Mode::exclusive, claimed) ==
          (claimed == Mode::shared ? Mode::shared : Mode::exclusive));
    CHECK(got(Mode::shared, claimed) == (claimed == Mode::shared ? Got(Mode::shared) : Got()));
    CHECK(got(Mode::slots, claimed) == Got());
    CHECK(got(claimed, Mode::slots) == Got());
  }
  CHECK(got(Mode::slots, Mode::slots) == Mode::slots);
}

TEST_CASE("modes: a nested claim with another number of slots would wait for its ancestor") {
  StoredLock state;
  const Hold hold = taken(state, claim_as(Mode::slots, "o", 10s, 3), at(0s));
  CHECK(busy(state, below(hold, claim_as(Mode::slots, "p", 10s, 4)), at(1s)).by_ancestor);
}

TEST_CASE("modes: a stranger's refusal is not a deadlock") {
  StoredLock state;
  taken(state, claim_as(Mode::shared, "o"), at(0s));
  CHECK_FALSE(busy(state, claim_as(Mode::exclusive, "p"), at(1s)).by_ancestor);
}

TEST_CASE("modes: the release of a write hold leaves its reads, and admits readers") {
  StoredLock state;
  const Hold write = taken(state, claim_as(Mode::exclusive, "o"), at(0s));
  const Hold read = taken(state, below(write, claim_as(Mode::shared, "p")), at(0s));
  CHECK(inspect(state, at(1s)).mode == Mode::exclusive);
  CHECK(is_busy(state, claim_as(Mode::shared, "q"), at(1s)));
  CHECK(release(state, write, at(2s)) == ReleaseVerdict::still_held);
  CHECK(inspect(state, at(2s)).mode == Mode::shared);
  CHECK(is_busy(state, claim_as(Mode::exclusive, "r"), at(2s)));
  taken(state, claim_as(Mode::shared, "q"), at(2s));
  CHECK(busy(state, below(read, claim_as(Mode::exclusive, "t")), at(3s)).by_ancestor);
}

TEST_CASE("modes: a read below a write may write again while the write hold lives") {
  StoredLock state;
  const Hold write = taken(state, claim_as(Mode::exclusive, "o"), at(0s));
  const Hold read = taken(state, below(write, claim_as(Mode::shared, "p")), at(0s));
  CHECK(taken(state, below(read, claim_as(Mode::exclusive, "q")), at(1s)).mode == Mode::exclusive);
}

TEST_CASE("modes: the hold of each of several readers ends with its own lease") {
  StoredLock state;
  const Hold dead = taken(state, claim_as(Mode::shared, "o", 5s), at(0s));
  const Hold alive = taken(state, claim_as(Mode::shared, "p", 20s), at(0s));
  CHECK(inspect(state, at(1s)).owner_count == 2);
  CHECK(renew(state, alive, at(4s)).verdict == RenewVerdict::renewed);
  CHECK(lease_of(state).expires == StoreTime(5s));
  CHECK(inspect(state, at(5s)).owner_count == 1);
  CHECK(check(state, dead, at(5s)).verdict == RenewVerdict::lost);
  CHECK(renew(state, dead, at(6s)).verdict == RenewVerdict::lost);
  CHECK(release(state, dead, at(6s)) == ReleaseVerdict::not_held);
  CHECK(renew(state, alive, at(6s)).verdict == RenewVerdict::renewed);
}

TEST_CASE("modes: a refusal says when the lock may admit the claim, after all leases or one") {
  StoredLock readers;
  taken(readers, claim_as(Mode::shared, "o", 5s), at(0s));
  taken(readers, claim_as(Mode::shared, "p", 20s), at(0s));
  CHECK(busy(readers, claim_as(Mode::exclusive, "q"), at(1s)).holding.lease_left == Duration(19s));
  CHECK(inspect(readers, at(1s)).owners.at(0).lease_left == Duration(4s));
  StoredLock slots;
  taken(slots, claim_as(Mode::slots, "o", 5s, 2), at(0s));
  taken(slots, claim_as(Mode::slots, "p", 20s, 2), at(0s));
  CHECK(busy(slots, claim_as(Mode::slots, "q", 9s, 2), at(1s)).holding.lease_left == Duration(4s));
  CHECK(busy(slots, claim_as(Mode::plain, "q"), at(1s)).holding.lease_left == Duration(19s));
  StoredLock one;
  taken(one, claim_as(Mode::plain, "o", 5s), at(0s));
  CHECK(inspect(one, at(1s)).owners.at(0).lease_left == LeaseLeft());
}

TEST_CASE("modes: a claim gets the lowest free slot, and keeps its number") {
  StoredLock state;
  std::vector<Hold> holds;
  for (const char* owner : {"o0", "o1", "o2"}) {
    holds.push_back(taken(state, claim_as(Mode::slots, owner), at(0s)));
    CHECK(holds.back().slot == holds.size() - 1);
  }
  CHECK(inspect(state, at(0s)).slots == 3);
  CHECK(is_busy(state, claim_as(Mode::slots, "p"), at(1s)));
  CHECK(release(state, holds[1], at(2s)) == ReleaseVerdict::released);
  CHECK(taken(state, claim_as(Mode::slots, "p"), at(3s)).slot == 1U);
  CHECK(taken(state, claim_as(Mode::slots, "o2"), at(3s)).slot == 2U);  // repeated
}

TEST_CASE("modes: another number of slots has room when all of the present ones have ended") {
  StoredLock state;
  const Hold hold = taken(state, claim_as(Mode::slots, "o", 10s, 3), at(0s));
  CHECK(is_busy(state, claim_as(Mode::slots, "p", 10s, 4), at(1s)));
  CHECK(is_busy(state, claim_as(Mode::slots, "p", 10s, 2), at(1s)));
  CHECK(release(state, hold, at(2s)) == ReleaseVerdict::released);
  CHECK(taken(state, claim_as(Mode::slots, "p", 10s, 4), at(2s)).slot == 0U);
  CHECK(inspect(state, at(2s)).slots == 4);
}

TEST_CASE("modes: each hold that is not nested has a token of its own") {
  for (const Mode mode : {Mode::shared, Mode::slots}) {
    StoredLock state;
    const FencingToken first = taken(state, claim_as(mode, "o"), at(0s)).token;
    CHECK(taken(state, claim_as(mode, "p"), at(0s)).token > first);
  }
}

TEST_CASE("modes: an owner that has a lease already gets no second one beside it") {
  StoredLock state;
  const Claim claim = claim_as(Mode::shared, "o");
  const Hold hold = taken(state, claim, at(0s));
  CHECK(revoke(state, order_by("bob"), at(1s)).verdict == RevokeVerdict::revoked);
  CHECK(is_busy(state, claim, at(2s)));
  Claim other = claim;
  other.serial = "another";
  CHECK(is_busy(state, other, at(2s)));
  // An earlier try of this very claim that was joined below what is revoked now.
  StoredLock nested;
  const Claim inner = below(taken(nested, claim, at(0s)), claim_as(Mode::shared, "p"));
  taken(nested, inner, at(0s));
  CHECK(revoke(nested, order_by("bob"), at(1s)).verdict == RevokeVerdict::revoked);
  CHECK(is_busy(nested, inner, at(2s)));
  CHECK(release(state, hold, at(2s)) == ReleaseVerdict::released);
}

TEST_CASE("revoke: all owners, one of them, or the one with a token") {
  const auto verdicts = [](const RevokeOrder& order) {
    StoredLock state;
    const Hold one = taken(state, claim_as(Mode::shared, "o"), at(0s));
    const Hold two = taken(state, claim_as(Mode::shared, "p"), at(0s));
    RevokeOrder meant = order;
    if (order.if_token) meant.if_token = two.token;
    CHECK(revoke(state, meant, at(1s)).verdict != RevokeVerdict::other_holder);
    return std::pair(check(state, one, at(2s)).verdict, check(state, two, at(2s)).verdict);
  };
  using Verdicts = std::pair<RenewVerdict, RenewVerdict>;
  const auto held = RenewVerdict::held;
  for (const bool now : {false, true}) {
    const auto gone = now ? RenewVerdict::lost : RenewVerdict::revoked;
    RevokeOrder order = order_by("bob", now);
    CHECK(verdicts(order) == Verdicts(gone, gone));
    order.if_owner = "o";
    CHECK(verdicts(order) == Verdicts(gone, held));
    order.if_owner.reset();
    order.if_token = 1;
    CHECK(verdicts(order) == Verdicts(held, gone));
  }
}

TEST_CASE("revoke: a kept hold is deleted, the holders beside it are notified") {
  StoredLock state;
  const Hold kept = taken(state, claim_as(Mode::shared, "o"), at(0s));
  CHECK(release(state, kept, at(1s), {.keep = 60s}) == ReleaseVerdict::released);
  const Hold other = taken(state, claim_as(Mode::shared, "p"), at(1s));
  CHECK(revoke(state, order_by("bob"), at(2s)).verdict == RevokeVerdict::revoked);
  CHECK(state.leases.size() == 1);
  CHECK(check(state, other, at(2s)).verdict == RenewVerdict::revoked);
}

}  // namespace dlock::lease_table
