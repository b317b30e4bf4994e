// SPDX-License-Identifier: MIT
#include "core/quorum_rounds.hpp"

#include <doctest/doctest.h>

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

}  // namespace dlock::quorum
