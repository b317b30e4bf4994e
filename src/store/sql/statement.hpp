// SPDX-License-Identifier: MIT
// A statement for an SQL server, and the answer to it. All SQL sessions use these types.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlock::sql {

using Value = std::optional<std::string>;  // nullopt: NULL
using Values = std::vector<Value>;         // the values of one row
using Table = std::vector<Values>;

// In the text, $1 to $9 stand for the parameters. The text has no other '$'.
struct Statement {
  std::string text;  // without ';' at the end
  std::vector<Value> parameters = {};
};

struct Answer {
  Table rows = {};  // empty if the statement returns no rows
  // How many rows an INSERT, UPDATE or DELETE has found; it may have left them as they were.
  long long affected = 0;
};

// Why a statement failed, if that matters to a store.
enum class Cause {
  other,
  repeat,     // a conflict with another transaction; this one is rolled back and may be repeated
  no_table,   // a table that the statement names does not exist
  no_column,  // a column that the statement names does not exist
  exists,     // another process has just created the same table
};

}  // namespace dlock::sql
