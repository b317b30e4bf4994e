// SPDX-License-Identifier: MIT
// A hold as environment variables: those that a command under a lock gets, and the entries of
// DLOCK_HOLDS. For several names, DLOCK_NAME, DLOCK_OWNER, DLOCK_TOKEN and DLOCK_SLOT are lists in
// the order of the names, separated by spaces; the other variables describe the first name.
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

// Returns all variables except DLOCK_HOLDS.
std::vector<Variable> hold_variables(const Holds& holds);

// Returns whether the variable is one of those that describe a hold, such as DLOCK_TOKEN. A run
// does not pass the inherited value of such a variable on to its command.
bool is_hold_variable(std::string_view name);

// Returns the entries of DLOCK_HOLDS for `holds`. `keys`: the keys of `names` in the store; each
// hold has one of these names.
std::vector<AncestorHold> hold_entries(const std::string& store,
                                       const std::vector<LockName>& names,
                                       const std::vector<std::string>& keys,
                                       const Holds& holds);

}  // namespace dlock
