// SPDX-License-Identifier: MIT
// A statement for an SQL server, and the answer to it. All sessions with such servers use these
// types.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlock::sql {

using Value = std::optional<std::string>;  // nullopt: NULL
using Values = std::vector<Value>;         // one row
using Table = std::vector<Values>;

// In the text, $1 to $9 stand for the parameters; a '$' has no other use.
struct Statement {
  std::string text;  // without a ';'
  std::vector<Value> parameters = {};
};

struct Answer {
  Table rows = {};  // empty if the statement returns no rows
  // How many rows an INSERT, UPDATE or DELETE has matched, whether it changed them or not.
  long long affected = 0;
};

// Why a statement failed, as far as a store reacts to the reason.
enum class Cause {
  other,
  repeat,     // a conflict with another transaction: rolled back, may be repeated
  no_table,   // a table of the statement does not exist
  no_column,  // a column of the statement does not exist
  exists,     // another process created the object at the same time
};

}  // namespace dlock::sql
