// SPDX-License-Identifier: MIT
// Helpers for tests of waiting: a lock that is busy at first, and the times of the tries.
#pragma once

#include <optional>
#include <vector>

#include "support/scripted_world.hpp"

namespace dlock::test {

// Returns the script of a run that waits for a lock and ends at once. The lock is free from
// `free_from` on; nullopt: never.
inline Script waiting(std::optional<Duration> free_from) {
  Script script;
  script.free_from = free_from;
  script.runs_for = Duration{};
  return script;
}

// Returns the pauses between successive times.
inline std::vector<Duration> gaps(const std::vector<Duration>& times) {
  std::vector<Duration> all;
  for (std::size_t i = 1; i < times.size(); ++i)
    all.push_back(times[i] - times[i - 1]);
  return all;
}

// Returns when the last try was sent. If the run got the lock, that try was granted.
inline Duration last_try(const World& world) {
  return world.asked(What::acquire).back();
}

}  // namespace dlock::test
