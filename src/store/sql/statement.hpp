// SPDX-License-Identifier: MIT
// A statement for a server of SQL, and what the server answers. Every session of such a server
// speaks in these words.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlock::sql {

using Value = std::optional<std::string>;  // nullopt: NULL
using Values = std::vector<Value>;         // one row
using Table = std::vector<Values>;

// $1, $2 … $9 in the text stand for the parameters, and a '$' for nothing else.
struct Statement {
  std::string text;  // without a ';'
  std::vector<Value> parameters = {};
};

struct Answer {
  Table rows = {};  // empty if the statement returns no rows
  // How many rows an INSERT, UPDATE or DELETE has found, changed or not.
  long long affected = 0;
};

// Why a statement failed, as far as a store reacts to it.
enum class Cause {
  other,
  repeat,     // a conflict with another transaction: undone, may be repeated
  no_table,   // a table of the statement does not exist
  no_column,  // a column of the statement does not exist
  exists,     // what the statement makes was made by another process at the same time
};

}  // namespace dlock::sql
