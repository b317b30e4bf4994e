// SPDX-License-Identifier: MIT
#include "core/quorum_claim.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "unit/quorum_words.hpp"

namespace dlock::quorum {

namespace {

// Lets three servers grant r1 with one token.
void keep_r1(Round& round) {
  auto driven = round.begin();
  driven.answer({0, 1, 2}, What::acquire, granted(hold_as("r1", 7)));
  REQUIRE(outcome_of<Grant>(driven).holds.front().token == 7);
}

}  // namespace

TEST_CASE("quorum: a majority is more than half: 2 of 3, 3 of 4, 3 of 5") {
  CHECK(needed(3) == 2);
  CHECK(needed(4) == 3);
  CHECK(needed(5) == 3);
  for (const std::size_t servers : {3U, 4U, 5U}) {
    Round round(servers);
    auto driven = round.begin();
    for (std::size_t i = 0; i < needed(servers); ++i) {
      CHECK_FALSE(driven.is_over());
      driven.answer(i, What::acquire, granted(hold_as("r1", 7)));
    }
    CHECK(outcome_of<Grant>(driven).holds.front().token == 7);
  }
}

TEST_CASE("quorum claim: the lease is counted from the Q-th newest request, not from the newest") {
  Round round(5);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 7), k_start));
  driven.answer(1, What::acquire, granted(hold_as("r1", 7), k_start + 3ms));
  driven.answer(2, What::acquire, granted(hold_as("r1", 7), k_start + 1ms));
  CHECK(outcome_of<Grant>(driven).sent_at == k_start);
  driven.answer(3, What::acquire, granted(hold_as("r1", 7), k_start + 2ms));
  CHECK(round.members.sent_at() == k_start + 1ms);  // an answer that comes later counts
}

TEST_CASE("quorum claim: an acquire gives the minority 20 ms, as its process ends with the grant") {
  const HoldSerial serial = serial_of(make_owner_id(7));
  for (const bool late : {true, false}) {
    Round round(3);
    auto driven = round.begin(serial);
    driven.answer({0, 1}, What::acquire, granted(hold_as(serial, 7)));
    CHECK_FALSE(driven.is_over());
    CHECK(driven.machine.next_deadline() == k_start + 20ms);
    if (late) {
      driven.wait_until(k_start + 20ms);
    } else {
      driven.answer(2, What::acquire, granted(hold_as(serial, 5)));
      CHECK_FALSE(driven.is_over());
      driven.answer(2, What::raise, raised());
    }
    CHECK(outcome_of<Grant>(driven).holds.front().token == 7);
  }
}

TEST_CASE("quorum claim: is granted once a majority has the largest token of the grants") {
  Round round(5);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.answer(1, What::acquire, granted(hold_as("r1", 9)));
  driven.answer(2, What::acquire, granted(hold_as("r1", 4)));
  CHECK(driven.asked(What::raise) == 2);
  CHECK_FALSE(driven.asked(1, What::raise));  // it has the token
  driven.answer(0, What::raise, raised());
  CHECK(driven.last.holds.front().token == 9);
  CHECK_FALSE(driven.is_over());
  driven.answer(2, What::raise, raised());
  CHECK(outcome_of<Grant>(driven).holds.front().token == 9);
}

TEST_CASE("quorum claim: a vote that comes while the token is written is raised, and can count") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.answer(1, What::acquire, granted(hold_as("r1", 9)));
  driven.answer(2, What::acquire, granted(hold_as("r1", 11)));
  driven.answer(2, What::raise, raised());
  CHECK(outcome_of<Grant>(driven).holds.front().token == 9);
}

TEST_CASE("quorum claim: a vote that comes with the token while that is written counts at once") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 9)));
  driven.answer(1, What::acquire, granted(hold_as("r1", 3)));
  CHECK_FALSE(driven.is_over());
  driven.answer(2, What::acquire, granted(hold_as("r1", 9)));
  CHECK(outcome_of<Grant>(driven).holds.front().token == 9);
}

TEST_CASE("quorum claim: beside a name whose hold is joined a new one gets the largest token") {
  const auto of_two = [](FencingToken token) {
    Holds holds = hold_as("r1", 5, "above");
    holds.front().nested = true;
    holds.push_back(hold_as("r1", token).front());
    holds.back().name = *LockName::parse("b");
    return holds;
  };
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(of_two(100)));  // the last token of b was 900, elsewhere
  driven.answer(1, What::acquire, granted(of_two(901)));
  CHECK(driven.asked(0, What::raise));
  driven.answer(0, What::raise, raised());
  CHECK(outcome_of<Grant>(driven).holds.front().token == 5);
  CHECK(outcome_of<Grant>(driven).holds.back().token == 901);
}

TEST_CASE("quorum claim: without its token at a majority it is given back") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.answer(1, What::acquire, granted(hold_as("r1", 9)));
  driven.answer(2, What::acquire, refused());
  driven.answer(0, What::raise, Result<void>(Error{Errc::lost, "no record"}));
  CHECK(driven.asked(What::release) == 2);
  driven.answer({0, 1}, What::release, released());
  REQUIRE(driven.is_over());
  const auto& outcome = *driven.machine.outcome();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().text == "1 of 3 servers did not confirm the fencing token: no record");
  CHECK(round.members[0].trouble.empty());  // the server is well
}

TEST_CASE("quorum claim: refused by the leader, all is given back, also where no answer came") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(1, What::acquire, granted(hold_as("r1", 3)));
  driven.answer(0, What::acquire, refused(2));
  CHECK(driven.asked(1, What::release));
  CHECK(driven.asked(2, What::release));
  CHECK_FALSE(driven.asked(0, What::release));
  CHECK(driven.machine.used_up());
  driven.answer(1, What::release, released());
  CHECK_FALSE(driven.is_over());
  driven.answer(2, What::acquire, granted(hold_as("r1", 4)));  // too late
  driven.answer(2, What::release, released());
  const auto& refusal = outcome_of<Refusal>(driven);
  CHECK(refusal.place == 2);
  CHECK(refusal.holding.votes.size() == 3);
  CHECK(round.members[2].owed.empty());
}

TEST_CASE("quorum claim: a server that gives back too slowly is not waited for, but owes it") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, refused());
  driven.wait_until(k_start + 99ms);
  CHECK_FALSE(driven.is_over());
  driven.wait_until(k_start + 100ms);
  CHECK(std::holds_alternative<Refusal>(**driven.machine.outcome()));
  CHECK(round.members[1].owed.size() == 1);
  CHECK(round.members.asks_owed(1, k_start).empty());  // it is on its way
}

TEST_CASE("quorum claim: nothing is owed by servers to which nothing was sent") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(1, What::acquire, refused_for({Errc::not_listening, "s1: nobody"}));
  driven.answer(2, What::acquire, refused_for({Errc::no_such_host, "s2: no host"}));
  driven.answer(0, What::acquire, refused());
  CHECK(driven.is_over());
  CHECK(driven.asked(What::release) == 0);
  CHECK_FALSE(driven.machine.used_up());
}

TEST_CASE("quorum claim: a run that was done already, by the word of one server, is given back") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(1, What::acquire, granted(hold_as("r1", 3)));
  driven.answer(2, What::acquire, Result<AcquireReply>(Done{.ago = 5s}));
  driven.answer({0, 1}, What::release, released());
  CHECK(outcome_of<Done>(driven).ago == 5s);
}

TEST_CASE("quorum claim: a hold above it is lost if more servers say so than may fail") {
  Round round(5);
  auto driven = round.begin();
  for (const std::size_t i : {4U, 3U})
    driven.answer(i, What::acquire, refused_for({Errc::lost, "the hold is gone"}));
  CHECK(driven.asked(What::release) == 0);
  driven.answer(2, What::acquire, refused_for({Errc::lost, "the hold is gone"}));
  for (const std::size_t i : {0U, 1U, 2U, 3U, 4U})
    driven.answer(i, What::release, released());
  CHECK(driven.machine.outcome()->error().code == Errc::lost);
}

TEST_CASE("quorum claim: if too few vote, each of them is named; the code is that of most") {
  struct Row {
    Errc second;
    Errc both;
  };
  for (const Row& row :
       {Row{Errc::denied, Errc::denied}, Row{Errc::timed_out, Errc::unavailable}}) {
    Round round(3);
    auto driven = round.begin();
    driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
    driven.answer(1, What::acquire, refused_for({Errc::denied, "s1: no right"}));
    driven.answer(2, What::acquire, refused_for({row.second, "s2: other"}));
    driven.answer({0, 1, 2}, What::release, released());
    REQUIRE(driven.is_over());
    const Error& error = driven.machine.outcome()->error();
    CHECK(error.text == "2 of 3 servers gave no vote: s1: no right; s2: other");
    CHECK(error.code == row.both);
  }
}

TEST_CASE("quorum claim: a server that is silent for a tenth of the lease has no vote") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.wait_until(k_start + 1s);
  CHECK(driven.asked(What::release) == 3);
  driven.answer(0, What::release, released());
  driven.wait_until(k_start + 10s);
  const Error& error = driven.machine.outcome()->error();
  CHECK(error.code == Errc::timed_out);
  CHECK(error.text ==
        "2 of 3 servers gave no vote: no answer from s1 within 1s; no answer from s2 within 1s");
  CHECK(round.members.leader() == 0);
  CHECK_FALSE(round.members[1].trouble.empty());
}

TEST_CASE("quorum claim: a nested claim has the token that a majority has recorded") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 9, "above")));
  driven.answer(1, What::acquire, granted(hold_as("r1", 5, "above")));
  CHECK(driven.asked(What::raise) == 0);  // which of the two is it?
  driven.answer(2, What::acquire, granted(hold_as("r1", 5, "above")));
  CHECK(outcome_of<Grant>(driven).holds.front().token == 5);
}

TEST_CASE("quorum claim: a hold that is joined and one that is new are no votes together") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 5, "above")));
  driven.answer(1, What::acquire, granted(hold_as("r1", 8)));
  CHECK_FALSE(driven.is_over());
  driven.answer(2, What::acquire, granted(hold_as("r1", 5, "above")));
  CHECK(outcome_of<Grant>(driven).holds.front().owner == "above");
  CHECK(driven.asked(1, What::release));
}

TEST_CASE("quorum claim: a repetition of a granted round has its token, and gives nothing back") {
  Round round(3);
  keep_r1(round);
  auto again = round.begin();
  again.answer({1, 0}, What::acquire, granted(hold_as("r1", 8), k_start + 1s));
  again.answer({0, 1}, What::raise, raised());
  CHECK(outcome_of<Grant>(again).holds.front().token == 7);

  auto failed = round.begin();
  failed.answer(0, What::acquire, refused());
  CHECK(std::holds_alternative<Refusal>(**failed.machine.outcome()));
  CHECK(failed.asked(What::release) == 0);
  CHECK_FALSE(failed.machine.used_up());
  CHECK(round.members.kept()->serial == "r1");
}

TEST_CASE("quorum claim: a round that is repeated after its lease gets a new token") {
  Round round(3);
  keep_r1(round);
  round.now = k_start + 9901ms;  // another grant may have been, and be over
  auto again = round.begin();
  again.answer(0, What::acquire, granted(hold_as("r1", 20), round.now));
  again.answer(1, What::acquire, granted(hold_as("r1", 21), round.now));
  again.answer({0}, What::raise, raised());
  CHECK(outcome_of<Grant>(again).holds.front().token == 21);
}

TEST_CASE("quorum claim: one that is abandoned owes all that it may have") {
  Round round(3);
  auto driven = round.begin();
  driven.answer(0, What::acquire, granted(hold_as("r1", 3)));
  driven.machine.abandon();
  CHECK(driven.machine.used_up());
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(round.members[i].owed.size() == 1);
  auto next = round.begin("r2");
  CHECK(next.asked(What::release) == 3);
  CHECK(next.asked(What::acquire) == 3);
}

}  // namespace dlock::quorum
