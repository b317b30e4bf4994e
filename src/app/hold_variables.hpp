// SPDX-License-Identifier: MIT
// What a hold is called in an environment: the variables that a command under a lock finds, and the
// entries of DLOCK_HOLDS. Of several names DLOCK_NAME, DLOCK_OWNER, DLOCK_TOKEN and DLOCK_SLOT are
// lists in their order, one space between two; the others are those of the first.
#pragma once

#include "core/lock_store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct Variable {
  std::string name;
  std::string value;
};

// All but DLOCK_HOLDS.
std::vector<Variable> hold_variables(const Holds& holds);

// Does that variable tell of a hold? What an outer one says must not be taken for ours.
bool is_hold_variable(std::string_view name);

// `keys` are those of the names in the store.
std::vector<AncestorHold> hold_entries(const std::string& store,
                                       const std::vector<std::string>& keys,
                                       const Holds& holds);

}  // namespace dlock
