// SPDX-License-Identifier: MIT
#include "core/run_words.hpp"

#include <array>

namespace dlock {

namespace {

// In the order of Outcome::Kind.
constexpr std::array k_outcomes{"child",
                                "taken",
                                "busy",
                                "superseded",
                                "done",
                                "failed",
                                "lost",
                                "time_up",
                                "signalled",
                                "unavailable",
                                "unlocked"};
static_assert(k_outcomes.size() == static_cast<std::size_t>(Outcome::Kind::unlocked) + 1);

}  // namespace

const char* outcome_word(const Outcome& outcome) {
  const Outcome::Kind kind = outcome.not_started() ? Outcome::Kind::failed : outcome.kind;
  return k_outcomes.at(static_cast<std::size_t>(kind));
}

std::span<const char* const> outcome_words() {
  return k_outcomes;
}

}  // namespace dlock
