// SPDX-License-Identifier: MIT
// The output of dlock list on a terminal: one row per lock, in columns, cut to the terminal's
// width.
#pragma once

#include "cmd/json_output.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dlock {

// Returns a table with titles: name, holder, how the lock is held ("alone", "shared", …), age,
// lease left, number of waiters, command and reason. Leaves out a column that is empty for every
// lock, and the third column if it says "alone" for every lock. No line is wider than `columns`.
// Empty if there are no locks.
std::string lock_table(const std::vector<NamedHolding>& locks, std::size_t columns, bool utf8);

}  // namespace dlock
