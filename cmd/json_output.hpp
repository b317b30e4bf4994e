// SPDX-License-Identifier: MIT
// What --json writes: one schema for inspect and list, version 1, described in dlock(1).
#pragma once

#include "core/lock_store.hpp"

#include <string>
#include <vector>

namespace dlock {

// A name, the key it has in the store, and how it stands there.
struct NamedHolding {
  std::string name;
  std::string key;
  Holding holding;
};

std::string holdings_json(const std::vector<NamedHolding>& holdings);

}  // namespace dlock
