// SPDX-License-Identifier: MIT
// One simulation: two to five hosts that run one dlock after the other for one lock, a nemesis,
// then an end of all faults, after which the lock has to come to whoever waits. Everything follows
// from the seed.
#pragma once

#include <string>
#include <vector>

#include "sim/scene.hpp"

namespace dlock::sim {

struct Report {
  std::string verdict;                // empty: nothing wrong
  std::vector<std::string> timeline;  // if it was traced
  Statistics statistics;
};

Report simulate(std::uint64_t seed, const Rules& rules, bool traced);

}  // namespace dlock::sim
