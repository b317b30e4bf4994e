// SPDX-License-Identifier: MIT
// A claim that the store does not support is refused before the store is asked.
#include "cmd/claim.hpp"

#include <doctest/doctest.h>

#include "support/declining_store.hpp"
#include "support/has.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::DecliningStore;
using test::has;

namespace {

LockName name_for_claim(const char* text) {
  return *LockName::parse(text);
}

Claim plain_claim() {
  return {.names = {name_for_claim("a")}, .owner = "o:1", .serial = "s", .ttl = 30s};
}

// Returns the refusal for a store with these traits; empty: the store is asked.
std::string refusal_of(const StoreTraits& traits, const Claim& claim, Duration min_hold = {}) {
  const DecliningStore store(nullptr, traits);
  const auto fits = check_store(store, claim, min_hold);
  if (!fits) CHECK(fits.error().code == Errc::bad_usage);
  return fits ? "" : fits.error().text;
}

std::string refusal_of_less(const Claim& claim, Duration min_hold = {}) {
  const std::string all = refusal_of({}, claim, min_hold);
  CHECK_MESSAGE(all.empty(), all);
  return refusal_of(test::k_plain_locks_only, claim, min_hold);
}

}  // namespace

TEST_CASE("a plain claim of one name fits every store") {
  CHECK(refusal_of_less(plain_claim()).empty());
}

TEST_CASE("a claim that the store cannot serve is refused, with the option and the store") {
  Claim claim = plain_claim();
  claim.mode = Mode::exclusive;
  CHECK(refusal_of_less(claim) == "declining: does not support --exclusive");
  claim.mode = Mode::shared;
  CHECK(has(refusal_of_less(claim), "--shared"));
  claim.mode = Mode::slots;
  CHECK(has(refusal_of_less(claim), "--slots"));
  claim = plain_claim();
  claim.names.push_back(name_for_claim("b"));
  CHECK(has(refusal_of_less(claim), "--and"));
  claim = plain_claim();
  claim.ancestors = {{.store = "", .key = "a", .owner = "o:0", .serial = "t"}};
  CHECK(has(refusal_of_less(claim), "nested runs"));
  claim = plain_claim();
  claim.once_per = 1h;
  CHECK(has(refusal_of_less(claim), "--once-per"));
  CHECK(has(refusal_of_less(plain_claim(), 1s), "--min-hold"));
}

TEST_CASE("a limit of waiters needs a line; without one it can only be 0") {
  Claim claim = plain_claim();
  claim.max_waiters = 0;
  CHECK(refusal_of_less(claim).empty());
  claim.max_waiters = 1;
  CHECK(has(refusal_of_less(claim), "--max-waiters must be 0"));
}

}  // namespace dlock
