// SPDX-License-Identifier: MIT
// dlock list on a terminal: one row a lock, in columns, cut to the width.
#pragma once

#include "cmd/json_output.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dlock {

// Name, holder, mode unless all locks are held exclusively, age, lease left, number of waiters,
// command and reason, under their titles. No row is longer than `columns`. Empty without locks.
std::string lock_table(const std::vector<NamedHolding>& locks, std::size_t columns, bool utf8);

}  // namespace dlock
