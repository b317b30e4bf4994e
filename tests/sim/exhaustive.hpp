// SPDX-License-Identifier: MIT
// Every schedule of a small alphabet of steps up to a depth, instead of many by chance: answers of
// each kind, time, one freeze, two signals, the ends of the child and of its group.
#pragma once

#include <cstddef>

namespace dlock::sim {

// Says how many there were (or not), and which steps broke what; true if all promises were kept.
bool search_all_schedules(std::size_t depth, bool only_failure);

}  // namespace dlock::sim
