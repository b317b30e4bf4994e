// SPDX-License-Identifier: MIT
// The timing rules of the line in table stores. The contract suite has the other rules, on real
// stores.
#include "store/table/waiting_line.hpp"

#include <doctest/doctest.h>

#include <variant>

#include "unit/lease_words.hpp"

namespace dlock::lease_table {

namespace {

Refusal in_line(const States& states, const Claim& claim, const Moment& moment) {
  const auto reply = acquire(states, claim, moment, Queueing::listening);
  REQUIRE(reply.has_value());
  REQUIRE(std::holds_alternative<Refusal>(*reply));
  return std::get<Refusal>(*reply);
}

Claim free_again(StoredLock& state, const Hold& hold, const Moment& moment) {
  CHECK(release(States{&state}, {hold}, {}, moment) == ReleaseVerdict::released);
  return claim_of("late", "s");
}

}  // namespace

TEST_CASE("line: a waiter counts as alive for ten seconds after a try, and not longer") {
  StoredLock state;
  taken(state, claim_of("o", "s", 60s), at(0s));
  CHECK(in_line({&state}, claim_of("p", "t"), at(1s)).place == 1);
  CHECK(in_line({&state}, claim_of("q", "u"), at(11s)).place == 2);
  CHECK(in_line({&state}, claim_of("q", "u"), at(11s + 1ns)).place == 1);
}

TEST_CASE(
    "line: a waiter that seems to live longer than a try lets it is of a clock that was set back") {
  StoredLock state;
  taken(state, claim_of("o", "s", 6000s), at(0s));
  CHECK(in_line({&state}, claim_of("p", "t"), at(1000s)).place == 1);
  CHECK(in_line({&state}, claim_of("q", "u"), at(5s)).place == 1);
}

TEST_CASE("line: the turn of the first lasts a second, whatever claims come meanwhile") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s", 60s), at(0s));
  in_line({&state}, claim_of("p", "t"), at(1s));
  in_line({&state}, claim_of("q", "u"), at(1s));
  const Claim late = free_again(state, hold, at(2s));
  CHECK(busy(state, late, at(2s)).turn_left == 1s);
  CHECK(in_line({&state}, claim_of("q", "u"), at(2500ms)).turn_left == 500ms);
  CHECK(in_line({&state}, late, at(3s)).place == 3);
  taken(state, claim_of("q", "u"), at(3s + 1ns));
}

TEST_CASE("line: at the begin of a turn the first two waiters look, at a heartbeat none") {
  StoredLock state;
  const Hold hold = taken(state, claim_of("o", "s", 60s), at(0s));
  in_line({&state}, claim_of("p", "t"), at(1s));
  Line before = state.line;
  in_line({&state}, claim_of("p", "t"), at(2s));
  CHECK_FALSE(turn_began(before, state.line));
  before = state.line;
  free_again(state, hold, at(2s));
  CHECK(turn_began(before, state.line));
}

TEST_CASE("line: a first waiter sees each of its turns, also while it waits for another name") {
  StoredLock a;
  StoredLock b;
  taken(b, claim_of("o", "s", 60s), at(0s));
  const Claim first = for_both(claim_of("p", "t"));
  in_line({&a, &b}, first, at(1s));
  const std::string waiting = signature_of({&a, &b}, first, at(1s).now);
  CHECK(signature_of({&a, &b}, first, at(4s).now) == waiting);
  in_line({&a}, claim_of("q", "u"), at(4s));
  CHECK(signature_of({&a, &b}, first, at(4s).now) != waiting);
  in_line({&a, &b}, first, at(4500ms));
  CHECK(signature_of({&a, &b}, first, at(4500ms).now) == waiting);
  CHECK(in_line({&a}, claim_of("q", "u"), at(6s)).place == 2);
  CHECK(signature_of({&a, &b}, first, at(6s).now) != waiting);
}

TEST_CASE("line: a claim of several names has one arrival, behind all others of each name") {
  StoredLock a;
  StoredLock b;
  taken(a, claim_of("o", "s", 60s), at(0s));
  taken(b, claim_of("o", "s", 60s), at(0s));
  in_line({&b}, claim_of("p", "t"), at(1s, k_wall_us + 5));
  in_line({&a, &b}, for_both(claim_of("q", "u")), at(1s, k_wall_us));
  CHECK(a.line.at(0).arrival_us == k_wall_us + 6);
  CHECK(b.line.at(1).arrival_us == k_wall_us + 6);
}

TEST_CASE("line: a claim that lost its place in one line loses it in all, and comes last") {
  StoredLock a;
  StoredLock b;
  taken(a, claim_of("o", "s", 60s), at(0s));
  taken(b, claim_of("o", "s", 60s), at(0s));
  in_line({&a, &b}, for_both(claim_of("q", "u")), at(1s));
  in_line({&a}, claim_of("p", "t"), at(1s));
  b.line.clear();
  CHECK(in_line({&a, &b}, for_both(claim_of("q", "u")), at(2s)).place == 2);
}

TEST_CASE("line: a waiter whose claim its own ancestor refuses is in no line") {
  StoredLock state;
  const Hold above = taken(state, claim_as(Mode::shared, "o"), at(0s));
  const Refusal seen = in_line({&state}, below(above, claim_as(Mode::exclusive, "p")), at(1s));
  CHECK(seen.by_ancestor);
  CHECK(seen.place == 0);
  CHECK(state.line.empty());
}

TEST_CASE("line: a waiter waits for the one before it, the first for the hold that is in its way") {
  StoredLock a;
  StoredLock b;
  const Claim holder = claim_of("o", "s", 60s);
  const Claim first = claim_of("p", "t");
  const Claim second = claim_of("q", "u");
  taken(a, holder, at(0s));
  taken(b, claim_of("r", "v", 60s), at(0s));
  CHECK(predecessor_of({&a}, first).empty());  // it is not in line
  in_line({&a}, first, at(1s));
  in_line({&a, &b}, for_both(second), at(2s));
  CHECK(predecessor_of({&a}, first) == waiter_id(holder));
  CHECK(predecessor_of({&a, &b}, for_both(second)) == waiter_id(first));
  leave({&a}, first, at(3s));
  CHECK(predecessor_of({&a, &b}, for_both(second)) == waiter_id(holder));
}

TEST_CASE("line: a waiter for slots waits for nobody in particular, a writer for each reader") {
  StoredLock slots;
  taken(slots, claim_as(Mode::slots, "o", 60s, 2), at(0s));
  taken(slots, claim_as(Mode::slots, "p", 60s, 2), at(0s));
  in_line({&slots}, claim_as(Mode::slots, "q", 60s, 2), at(1s));
  CHECK(predecessor_of({&slots}, claim_as(Mode::slots, "q", 60s, 2)).empty());
  StoredLock shared;
  const Claim reader = claim_as(Mode::shared, "o", 60s);
  taken(shared, reader, at(0s));
  taken(shared, claim_as(Mode::shared, "p", 60s), at(0s));
  in_line({&shared}, claim_of("q", "u"), at(1s));
  CHECK(predecessor_of({&shared}, claim_of("q", "u")) == waiter_id(reader));
}

TEST_CASE("line: the hold in the way is that of the outermost run, which ends last") {
  StoredLock state;
  const Hold outer = taken(state, claim_of("o", "z", 60s), at(0s));
  taken(state, claim_below(outer, "n", "a"), at(1s, k_wall_us + 1'000'000));
  in_line({&state}, claim_of("q", "u"), at(2s));
  CHECK(predecessor_of({&state}, claim_of("q", "u")) == hold_id("o", "z"));
}

}  // namespace dlock::lease_table
