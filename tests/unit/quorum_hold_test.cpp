// SPDX-License-Identifier: MIT
#include "core/quorum_hold.hpp"

#include <doctest/doctest.h>

#include <string>

#include "unit/quorum_words.hpp"

namespace dlock::quorum {

namespace {

constexpr Time k_limit = k_start + 1s;

// Returns members of which only these have granted r1, with token 7.
Members kept_at(const std::vector<std::size_t>& granting, std::size_t servers) {
  Members members = members_of(servers);
  Claim round = claim_as("r1");
  round.least_uptime = 60s;
  members.keep(round, hold_as("r1", 7));
  for (const std::size_t server : granting) {
    members[server].holds = hold_as("r1", 7);
    members[server].confirmed = k_start - 3s;
    members[server].raised = true;
  }
  return members;
}

Driven<QuorumRenewal> renewal(Members& members, What what = What::renew) {
  return Driven<QuorumRenewal>(members, what, hold_as("r1", 7), k_limit);
}
Driven<QuorumRelease> release_of(Members& members, const ReleaseOptions& options = {}) {
  return Driven<QuorumRelease>(members, hold_as("r1", 7), options, k_start, k_limit);
}

}  // namespace

TEST_CASE("quorum renewal: is confirmed by a majority, and counted from the Q-th newest request") {
  Members members = kept_at({0, 1, 2, 3, 4}, 5);
  auto driven = renewal(members);
  driven.answer(4, What::renew, renewed(k_start + 2ms));
  driven.answer(0, What::renew, renewed(k_start + 1ms));
  CHECK_FALSE(driven.is_over());
  driven.answer(1, What::renew, renewed(k_start + 3ms));
  CHECK(outcome_of<RenewReply>(driven).verdict == RenewVerdict::renewed);
  CHECK(outcome_of<RenewReply>(driven).sent_at == k_start + 1ms);
  driven.answer(2, What::renew, renewed(k_start + 4ms));
  CHECK(members.sent_at() == k_start + 2ms);  // the late answer counts for the next one
}

TEST_CASE("quorum renewal: a part that comes during a check is not a lost one") {
  for (const bool comes : {true, false}) {
    Members members = kept_at({0, 1}, 3);
    auto driven = renewal(members, What::check);
    if (comes) members.heard({.server = 2, .claim = claim_as("r1")}, granted(hold_as("r1", 7)));
    driven.answer(0, What::check, renewed(k_start, RenewVerdict::held));
    driven.answer(1, What::check, lost());
    REQUIRE(driven.is_over());
    CHECK(driven.machine.outcome()->has_value() != comes);  // lost; or unknown, and asked again
  }
}

TEST_CASE("quorum renewal: a check says held, and the lease stays as it is") {
  Members members = kept_at({0, 1, 2}, 3);
  auto driven = renewal(members, What::check);
  driven.answer({0, 1}, What::check, renewed(k_start, RenewVerdict::held));
  CHECK_FALSE(driven.is_over());  // the third may be the server that is watched
  driven.wait_until(driven.machine.next_deadline());
  CHECK(driven.now == k_start + 50ms);
  CHECK(outcome_of<RenewReply>(driven).verdict == RenewVerdict::held);
  CHECK(outcome_of<RenewReply>(driven).sent_at == k_start);
  CHECK(members.sent_at() == k_start - 3s);
  CHECK(driven.asked(What::acquire) == 0);
}

TEST_CASE("quorum renewal: is lost as soon as fewer than a majority can be ours") {
  for (const std::size_t servers : {3U, 5U}) {
    Members members = members_of(servers);
    auto driven = renewal(members);  // of another process: all are asked
    CHECK(driven.asked(What::renew) == servers);
    const std::size_t spare = servers - needed(servers);
    for (std::size_t i = 0; i < spare; ++i)
      driven.answer(i, What::renew, lost());
    CHECK_FALSE(driven.is_over());
    driven.answer(spare, What::renew, lost());
    CHECK(outcome_of<RenewReply>(driven).verdict == RenewVerdict::lost);
    CHECK(outcome_of<RenewReply>(driven).some_left);
    CHECK(driven.asked(What::acquire) == 0);  // what is lost is not completed
  }
}

TEST_CASE("quorum renewal: a server without a part of the hold counts as lost, and is not asked") {
  Members members = kept_at({0, 1}, 3);
  auto driven = renewal(members);
  CHECK(driven.asked(What::renew) == 2);
  driven.answer(1, What::renew, lost());
  CHECK(outcome_of<RenewReply>(driven).verdict == RenewVerdict::lost);
}

TEST_CASE("quorum renewal: is revoked by a majority of revocations and losses") {
  Members members = kept_at({0, 1, 2}, 3);
  auto driven = renewal(members);
  driven.answer(0, What::renew, renewed(k_start, RenewVerdict::revoked));
  CHECK_FALSE(driven.is_over());
  driven.answer(1, What::renew, lost());
  CHECK(outcome_of<RenewReply>(driven).verdict == RenewVerdict::revoked);

  Members others = kept_at({0, 1, 2}, 3);
  auto by_one = renewal(others);
  by_one.answer(0, What::renew, renewed(k_start, RenewVerdict::revoked));
  by_one.answer({1, 2}, What::renew, renewed());
  CHECK(outcome_of<RenewReply>(by_one).verdict == RenewVerdict::renewed);
}

TEST_CASE("quorum renewal: silence is no verdict") {
  Members members = kept_at({0, 1, 2}, 3);
  auto driven = renewal(members);
  driven.answer(0, What::renew, renewed());
  driven.answer(1, What::renew, lost());
  driven.wait_until(k_limit - 1ns);
  CHECK_FALSE(driven.is_over());
  driven.wait_until(k_limit);
  const Error& error = driven.machine.outcome()->error();
  CHECK(error.code == Errc::timed_out);
  CHECK(error.text == "only 2 of 3 servers answered");
}

TEST_CASE("quorum renewal: servers without a part are asked for it after a majority confirmed") {
  Members members = kept_at({0, 1, 2}, 5);
  auto driven = renewal(members);
  driven.answer({0, 1}, What::renew, renewed());
  CHECK(driven.asked(What::acquire) == 0);
  driven.answer(2, What::renew, renewed());
  CHECK(driven.is_over());
  CHECK(driven.asked(3, What::acquire));
  CHECK(driven.asked(4, What::acquire));
  driven.answer(3, What::acquire, granted(hold_as("r1", 2)));
  CHECK(driven.last.claim.least_uptime == 0s);
  CHECK(driven.last.claim.serial == "r1");
  CHECK(driven.asked(3, What::raise));  // the late grant gets the token of the others
  driven.answer(3, What::raise, raised());
  CHECK(driven.last.holds.front().token == 7);
  CHECK(members[3].raised);
  driven.answer(4, What::acquire, refused());
  CHECK(members[4].holds.empty());
}

TEST_CASE("quorum renewal: one server that has lost its part is asked for it again") {
  Members members = kept_at({0, 1, 2}, 3);
  auto driven = renewal(members);
  driven.answer(0, What::renew, lost());
  CHECK(driven.asked(What::acquire) == 0);
  driven.answer({1, 2}, What::renew, renewed());
  CHECK(driven.asked(0, What::acquire));
}

TEST_CASE("quorum renewal: nested holds are not completed: only their owner can be") {
  Members members = members_of(3);
  Holds nested = hold_as("r1", 7, "above");
  Driven<QuorumRenewal> driven(members, What::renew, nested, k_limit);
  REQUIRE(nested.front().nested);
  driven.answer(0, What::renew, lost());
  driven.answer({1, 2}, What::renew, renewed());
  CHECK(driven.is_over());
  CHECK(driven.asked(What::acquire) == 0);
}

TEST_CASE("quorum renewal: a token that is not known to have arrived is written again") {
  Members members = kept_at({0, 1, 2}, 3);
  members[1].raised = false;
  auto driven = renewal(members);
  CHECK(driven.asked(What::raise) == 1);
  CHECK(driven.asked(1, What::raise));
}

TEST_CASE("quorum renewal: a late grant of another round changes nothing") {
  Members members = kept_at({0, 1}, 3);
  const Ask late{.server = 2, .what = What::acquire, .claim = claim_as("r0")};
  CHECK(members.heard(late, granted(hold_as("r0", 3))).empty());
  CHECK(members[2].holds.empty());
}

TEST_CASE(
    "quorum: an owed release is asked once, and again only after an error, until it is done") {
  Members members = members_of(3);
  members.owe(1, hold_as("r0", 3));
  members.owe(1, hold_as("r0", 3));
  const Asks first = members.asks_owed(1, k_limit);
  REQUIRE(first.size() == 1);
  CHECK(members.asks_owed(1, k_limit).empty());
  (void)members.heard(first.front(), Result<ReleaseVerdict>(Error{Errc::timed_out, "late"}));
  CHECK(members[1].trouble == "late");
  const Asks second = members.asks_owed(1, k_limit);
  REQUIRE(second.size() == 1);
  (void)members.heard(second.front(), released(ReleaseVerdict::not_held));
  CHECK(members[1].trouble.empty());
  CHECK(members[1].owed.empty());
  CHECK(members.asks_owed(1, k_limit).empty());
}

TEST_CASE("quorum release: all are asked, also those that have answered nothing") {
  Members members = kept_at({0, 1}, 3);
  members.owe(2, hold_as("r0", 3));
  auto driven = release_of(members);
  CHECK(driven.asked(What::release) == 4);
  CHECK_FALSE(members.kept());
  driven.answer({0, 1}, What::release, released());
  CHECK_FALSE(driven.is_over());  // the third has had no time yet
  driven.answer({2, 2}, What::release, released(ReleaseVerdict::not_held));
  CHECK(outcome_of<ReleaseVerdict>(driven) == ReleaseVerdict::released);
}

TEST_CASE("quorum release: the minority has as long again as the majority, and 20 ms at least") {
  for (const Duration took : {1ms, 100ms}) {
    Members members = kept_at({0, 1, 2}, 3);
    auto driven = release_of(members);
    driven.now = k_start + took;
    driven.answer({0, 1}, What::release, released());
    const Time patience = driven.now + std::max<Duration>(took, 20ms);
    driven.wait_until(patience - 1ns);
    CHECK_FALSE(driven.is_over());
    driven.wait_until(patience);
    CHECK(outcome_of<ReleaseVerdict>(driven) == ReleaseVerdict::released);
    CHECK(members[2].owed.size() == 1);
  }
}

TEST_CASE(
    "quorum release: not held by a majority is not held; still held needs more than may fail") {
  using enum ReleaseVerdict;
  struct Row {
    ReleaseVerdict one, two, three, all;
  };
  for (const Row& row : {Row{released, released, released, released},
                         Row{released, not_held, not_held, not_held},
                         Row{not_held, released, released, released},
                         Row{still_held, released, released, released},
                         Row{still_held, still_held, not_held, still_held},
                         Row{still_held, not_held, released, released}}) {
    Members members = kept_at({0, 1, 2}, 3);
    auto driven = release_of(members);
    driven.answer(0, What::release, quorum::released(row.one));
    driven.answer(1, What::release, quorum::released(row.two));
    driven.answer(2, What::release, quorum::released(row.three));
    CHECK(outcome_of<ReleaseVerdict>(driven) == row.all);
  }
}

TEST_CASE("quorum release: without a majority it is not known, and the error says why") {
  Members members = kept_at({0, 1, 2}, 3);
  auto driven = release_of(members);
  driven.answer(0, What::release, released());
  driven.answer(1, What::release, Result<ReleaseVerdict>(Error{Errc::denied, "s1: no right"}));
  driven.wait_until(k_limit);
  CHECK(driven.machine.outcome()->error().text == "s1: no right");

  Members silent = kept_at({0, 1, 2}, 3);
  auto other = release_of(silent);
  other.answer(0, What::release, released());
  other.wait_until(k_limit);
  CHECK(other.machine.outcome()->error().text == "only 1 of 3 servers answered");
}

TEST_CASE("quorum release: a repetition has the options of the first, and asks all again") {
  Members members = kept_at({0, 1, 2}, 3);
  {
    auto driven = release_of(members, {.keep = 5s});
    driven.answer(0, What::release, released());
    driven.answer(1, What::release, Result<ReleaseVerdict>(Error{Errc::timed_out, "late"}));
    driven.wait_until(k_limit);
    CHECK_FALSE(driven.machine.outcome()->has_value());
  }
  auto again = release_of(members, {.keep = 5s});
  CHECK(again.asked(What::release) == 3);  // no release without the options beside it
  for (const std::size_t i : {0U, 1U, 2U}) {
    again.answer(i, What::release, released());
    CHECK(again.last.release_options.keep == 5s);
  }
}

TEST_CASE("quorum release: what a server still owes has the options of the release") {
  Members members = kept_at({0, 1, 2}, 3);
  auto driven = release_of(members, {.keep = 5s});
  driven.answer({0, 1}, What::release, released());
  driven.answer(2, What::release, Result<ReleaseVerdict>(Error{Errc::timed_out, "late"}));
  const Asks owed = members.asks_owed(2, k_limit);
  REQUIRE(owed.size() == 1);
  CHECK(owed.front().release_options.keep == 5s);
}

}  // namespace dlock::quorum
