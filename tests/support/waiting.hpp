// SPDX-License-Identifier: MIT
// What tests of waiting have in common: a lock that is busy at first, and the times of the tries.
#pragma once

#include <optional>
#include <vector>

#include "support/scripted_world.hpp"

namespace dlock::test {

// A run of no length, of a lock that is free from then on; nullopt: never.
inline Script waiting(std::optional<Duration> free_from) {
  Script script;
  script.free_from = free_from;
  script.runs_for = Duration{};
  return script;
}

// The pauses between the moments of `times`.
inline std::vector<Duration> gaps(const std::vector<Duration>& times) {
  std::vector<Duration> all;
  for (std::size_t i = 1; i < times.size(); ++i)
    all.push_back(times[i] - times[i - 1]);
  return all;
}

// When the last try was sent: of a run that got the lock, the one that was granted.
inline Duration last_try(const World& world) {
  return world.asked(What::acquire).back();
}

}  // namespace dlock::test
