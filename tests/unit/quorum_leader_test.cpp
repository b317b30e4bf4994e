// SPDX-License-Identifier: MIT
// What the leader decides between rival claims, and what it does not decide.
#include "core/quorum_claim.hpp"

#include <doctest/doctest.h>

#include "unit/quorum_words.hpp"

namespace dlock::quorum {

namespace {

Members with_doubt_about(std::size_t server, std::size_t servers) {
  Members members = members_of(servers);
  members[server].trouble = "no answer";
  return members;
}

}  // namespace

TEST_CASE("quorum claim: who has the leader's vote keeps it and asks the others again") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.answer({1, 2}, What::acquire, refused());
  CHECK_FALSE(driven.is_over());
  CHECK(driven.asked(What::release) == 0);
  CHECK(driven.asked(What::acquire) == 0);
  driven.wait_until(driven.machine.next_deadline());
  CHECK(driven.now <= k_start + 300us);  // one and a half of the shortest round trip
  CHECK(driven.asked(What::acquire) == 2);
  driven.answer(2, What::acquire, granted(hold_as("r1", 3)));
  CHECK(outcome_of<Grant>(driven).holds.front().token == 3);
}

TEST_CASE("quorum claim: after five tries it gives back what it has, and looks again soon") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.answer({1, 2}, What::acquire, refused(4));
  for (int i = 0; i < 5; ++i) {
    driven.wait_until(driven.machine.next_deadline());
    REQUIRE(driven.asked(What::acquire) == 2);
    driven.answer({1, 2}, What::acquire, refused(4));
  }
  CHECK(driven.asked(What::release) == 1);
  driven.answer(0, What::release, released());
  const auto& refusal = outcome_of<Refusal>(driven);
  CHECK(refusal.place == 0);
  REQUIRE(refusal.turn_left);
  CHECK(*refusal.turn_left >= 20ms);
  CHECK(*refusal.turn_left <= 100ms);
}

TEST_CASE(
    "quorum claim: a waiter keeps the leader's vote for a second, and asks the others again") {
  Round round(members_of(3), Queueing::polling);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.answer({1, 2}, What::acquire, refused_by(1h));
  int tries = 0;
  while (driven.asked(What::release) == 0) {
    REQUIRE(driven.machine.next_deadline() > driven.now);
    driven.wait_until(driven.machine.next_deadline());
    if (driven.asked(What::acquire) == 0) continue;
    driven.answer({1, 2}, What::acquire, refused_by(1h));
    ++tries;
  }
  CHECK(driven.now >= k_start + 1s);
  CHECK(driven.now < k_start + 1100ms);
  CHECK(tries > 10);
  CHECK(tries < 60);
  driven.answer(0, What::release, released());
  CHECK(outcome_of<Refusal>(driven).turn_left);
}

TEST_CASE(
    "quorum claim: a silent leader has as long again as the others took, and 50 ms at least") {
  for (const Duration took : {1ms, 200ms}) {
    Round round(3);
    auto driven = round.begin();
    driven.now = k_start + took;
    driven.answer({1, 2}, What::acquire, granted(hold_as("r1", 3)));
    const Time patience = k_start + took + std::max<Duration>(took, 50ms);
    driven.wait_until(patience - 1ns);
    CHECK_FALSE(driven.is_over());
    CHECK(driven.machine.next_deadline() == patience);
    driven.wait_until(patience);
    CHECK(outcome_of<Grant>(driven).holds.front().token == 3);
  }
}

TEST_CASE(
    "quorum claim: a majority wins over a holder that only the leader has, if it is no rival") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, refused_by(250ms));
  driven.answer(1, What::acquire, granted(hold_as("r1", 3)));
  CHECK_FALSE(driven.is_over());
  CHECK(driven.asked(What::release) == 0);
  driven.answer(2, What::acquire, granted(hold_as("r1", 3)));
  CHECK(outcome_of<Grant>(driven).holds.front().token == 3);

  for (const Answer& word : {refused_by(249ms), refused_by(1h, 0, 249ms)}) {
    Round late(3);
    auto rival = late.begin();
    rival.answer({1, 2}, What::acquire, granted(hold_as("r1", 3)));
    rival.answer(0, What::acquire, word);
    rival.answer({1, 2}, What::release, released());
    CHECK(std::holds_alternative<Refusal>(**rival.machine.outcome()));
  }
}

TEST_CASE("quorum claim: a holder that the leader and another have is the reason of the refusal") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, refused_by(1h, 4));
  driven.answer(2, What::acquire, refused_by(1h));
  driven.answer(1, What::acquire, granted(hold_as("r1", 3)));  // too late
  driven.answer(1, What::release, released());
  CHECK(outcome_of<Refusal>(driven).place == 4);
}

TEST_CASE(
    "quorum claim: whether only the leader has a holder is asked for 50 ms, not for the lease") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, refused_by(1h));
  driven.answer(1, What::acquire, granted(hold_as("r1", 3)));
  driven.wait_until(k_start + 50ms - 1ns);
  CHECK(driven.asked(What::release) == 0);
  driven.wait_until(k_start + 50ms);
  CHECK(driven.asked(What::release) == 2);
  driven.answer(1, What::release, released());
  driven.wait_until(k_start + 150ms);
  CHECK(std::holds_alternative<Refusal>(**driven.machine.outcome()));
}

TEST_CASE("quorum claim: a leader that is not waited for leads no more until it answers") {
  Round round(3);
  auto driven = round.begin();
  driven.answer({1, 2}, What::acquire, refused());
  driven.wait_until(k_start + 50ms);
  CHECK(round.members.leader() == 1);
  CHECK(round.members[0].trouble == "no answer from s0 within 50ms");
  driven.answer(0, What::acquire, refused());
  CHECK(round.members.leader() == 0);
}

TEST_CASE("quorum claim: a leader in doubt is not waited for at all") {
  Round round(with_doubt_about(0, 3));
  auto driven = round.begin();
  CHECK(driven.machine.line() == 1);
  driven.answer({1, 2}, What::acquire, granted(hold_as("r1", 3)));
  CHECK(outcome_of<Grant>(driven).holds.front().token == 3);

  Round other(with_doubt_about(0, 3));
  auto rival = other.begin();
  rival.answer(1, What::acquire, refused());
  rival.answer({0, 2}, What::release, released());
  CHECK(std::holds_alternative<Refusal>(**rival.machine.outcome()));
}

TEST_CASE("quorum claim: only the line of the leader is waited in") {
  Round round(members_of(3), Queueing::polling);
  Claim claim = claim_as("r1");
  claim.max_waiters = 2;
  QuorumClaim machine(
      round.members,
      {.round = claim, .queueing = Queueing::polling, .leader_first = false, .limit = k_start + 5s},
      round.jitter,
      k_start);
  for (const Ask& ask : machine.start()) {
    CHECK((ask.queueing == Queueing::polling) == (ask.server == 0));
    CHECK(ask.claim.max_waiters.has_value() == (ask.server == 0));
  }
}

TEST_CASE("quorum claim: a waiter asks the leader first, and the others if it grants or fails") {
  for (const Answer& word :
       {granted(hold_as("r1", 3)), refused(1), refused_for({Errc::not_listening, "s0: nobody"})}) {
    Round round(members_of(3), Queueing::polling, /*first=*/true);
    auto driven = round.begin();
    CHECK(driven.asked(What::acquire) == 1);
    driven.answer(0, What::acquire, word);
    const auto& reply = std::get<Result<AcquireReply>>(word);
    const bool is_refused = reply && std::holds_alternative<Refusal>(*reply);
    CHECK(driven.is_over() == is_refused);
    CHECK(driven.asked(What::acquire) == (is_refused ? 0 : 2));
    CHECK(driven.machine.line() == (reply ? 0 : 1));
    CHECK_FALSE((is_refused && driven.machine.used_up()));
  }
}

TEST_CASE(
    "quorum claim: the first two of the line ask all whether they have the holder of the leader") {
  for (const std::uint64_t place : {1U, 2U, 3U}) {
    Round round(members_of(3), Queueing::polling, /*first=*/true);
    auto driven = round.begin();
    driven.answer(0, What::acquire, refused_by(1h, place));
    CHECK(driven.asked(What::acquire) == (place <= 2 ? 2 : 0));
    CHECK(driven.is_over() == (place > 2));
    if (place > 2) continue;
    driven.answer({1, 2}, What::acquire, granted(hold_as("r1", 3)));
    CHECK(outcome_of<Grant>(driven).holds.front().token == 3);
    CHECK(driven.machine.line() == 0);
  }
}

}  // namespace dlock::quorum
