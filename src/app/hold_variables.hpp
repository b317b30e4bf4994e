// SPDX-License-Identifier: MIT
// A hold in an environment: the variables that a command under a lock finds, and the entries of
// DLOCK_HOLDS. For several names DLOCK_NAME, DLOCK_OWNER, DLOCK_TOKEN and DLOCK_SLOT are lists in
// the order of the names, separated by a space; the other variables are the first name's.
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

// All variables but DLOCK_HOLDS.
std::vector<Variable> hold_variables(const Holds& holds);

// Whether the variable describes a hold: an outer run's value must not be taken for ours.
bool is_hold_variable(std::string_view name);

// `keys`: the names' keys in the store.
std::vector<AncestorHold> hold_entries(const std::string& store,
                                       const std::vector<std::string>& keys,
                                       const Holds& holds);

}  // namespace dlock
