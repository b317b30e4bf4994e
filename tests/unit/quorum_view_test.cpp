// SPDX-License-Identifier: MIT
#include "store/quorum/quorum_view.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dlock {

namespace {

Vote held_by(const std::string& owner) {
  Holding holding{.kind = Holding::Kind::lock, .owners = {{.id = owner, .count = "1"}}};
  return {.server = "", .trouble = "", .holding = std::move(holding)};
}
const Vote k_free{.server = "", .trouble = "", .holding = {}};
const Vote k_silent{.server = "", .trouble = "no answer", .holding = {}};

bool is_held(std::vector<Vote> votes) {
  return seen_by_majority(std::move(votes)).kind != Holding::Kind::none;
}

}  // namespace

TEST_CASE(
    "quorum view: an owner that a majority knows holds the lock, one of a minority does not") {
  CHECK(is_held({held_by("me"), held_by("me"), k_free}));
  CHECK_FALSE(is_held({held_by("me"), k_free, k_free}));
  CHECK_FALSE(is_held({held_by("me"), held_by("other"), k_free}));
  CHECK(seen_by_majority({held_by("other"), held_by("me"), held_by("me")}).owners.front().id ==
        "me");
}

TEST_CASE("quorum view: a server that does not answer may have a part of the hold") {
  CHECK(is_held({k_silent, held_by("me"), k_free}));
  CHECK_FALSE(is_held({k_silent, k_free, k_free}));
  CHECK_FALSE(is_held({k_silent, held_by("me"), k_free, k_free, k_free}));
  CHECK(is_held({k_silent, k_silent, held_by("me"), k_free, k_free}));
  const Holding two = seen_by_majority({held_by("a"), k_silent, held_by("b")});
  CHECK(two.owner_count == 2);  // either may have a majority with the silent one
  CHECK(two.owners.back().id == "b");
  Vote foreign = k_free;
  foreign.holding.kind = Holding::Kind::foreign;
  CHECK(is_held({k_silent, foreign, k_free}));
  CHECK_FALSE(is_held({k_free, foreign, k_free}));
  CHECK(seen_by_majority({k_silent, foreign, held_by("me")}).kind == Holding::Kind::lock);
}

}  // namespace dlock
