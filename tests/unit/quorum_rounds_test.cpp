// SPDX-License-Identifier: MIT
#include "core/quorum_rounds.hpp"

#include "core/quorum.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/quorum_words.hpp"

namespace dlock::quorum {

TEST_CASE("quorum rounds: each has another serial, and stands in line as the claim") {
  const Claim claim = claim_as("r1");
  Rounds rounds;
  CHECK(rounds.round_of(claim).serial == "r1");
  CHECK(rounds.round_of(claim).stands_as.empty());
  HoldSerial before = "r1";
  for (int i = 0; i < 3; ++i) {
    rounds.next();
    const Claim round = rounds.round_of(claim);
    CHECK(round.serial != before);
    CHECK(round.serial == rounds.round_of(claim).serial);  // until it is used up
    CHECK(round.owner == "me");
    CHECK(round.stands_as == "me#r1");
    before = round.serial;
  }
  CHECK(rounds.round_of(claim_as("r2")).serial == "r2");
}

TEST_CASE("quorum rounds: those of an acquire have owners that tell their serials") {
  Claim claim = claim_as("");
  claim.owner = make_owner_id(812);
  claim.serial = serial_of(claim.owner);
  Rounds rounds;
  CHECK(rounds.round_of(claim).owner == claim.owner);
  rounds.next();
  const Claim round = rounds.round_of(claim);
  CHECK(round.owner != claim.owner);
  CHECK(round.owner.ends_with(":812"));
  CHECK(round.serial == serial_of(round.owner));
  CHECK(round.stands_as == hold_id(claim.owner, claim.serial));
}

TEST_CASE("quorum: what several servers say in the same words is said once") {
  const std::string young = " started less than 1m ago; it votes again in ";
  const std::vector<Error> errors{{Errc::unavailable, "redis://a:1/0" + young + "54s"},
                                  {Errc::unavailable, "redis://b:1/0" + young + "55s"},
                                  {Errc::denied, "wrong password"}};
  const Error error = failed_servers(errors, 5, 2, "gave no vote");
  CHECK(error.text == "3 of 5 servers gave no vote: redis://a:1/0 and redis://b:1/0" + young +
                          "54s; wrong password");
}

TEST_CASE("quorum: a claim came as far as it came at so many servers that a majority has it") {
  const Error sent{Errc::timed_out, "no answer"};
  const Error refused{Errc::not_listening, "connection refused"};
  const Error taken = reached(Reach::connection, sent);
  const Error away = reached(Reach::nothing, sent);
  const auto farthest = [](const std::vector<Error>& errors) {
    return failed_servers(errors, 3, 1, "gave no vote").reach;
  };
  CHECK(farthest({refused, refused}) == Reach::nothing);
  CHECK(farthest({refused, away}) == Reach::nothing);
  CHECK(farthest({refused, away, sent}) == Reach::nothing);
  CHECK(farthest({refused, taken}) == Reach::connection);
  CHECK(farthest({refused, taken, sent}) == Reach::connection);
  CHECK(farthest({refused, sent}) == Reach::request);
  CHECK(farthest({refused}) == Reach::request);
}

}  // namespace dlock::quorum
