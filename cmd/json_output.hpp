// SPDX-License-Identifier: MIT
// What --json writes: one schema for inspect and list, version 1, described in dlock(1).
#pragma once

#include "core/lock_store.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock {

std::string holdings_json(const std::vector<std::pair<std::string, Holding>>& holdings);

}  // namespace dlock
