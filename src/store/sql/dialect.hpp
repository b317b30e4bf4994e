// SPDX-License-Identifier: MIT
// Dialect: the parts of the SQL of SqlStore that each kind of server spells in its own way. Only
// data and pure functions: the stores send the statements.
#pragma once

#include "store/sql/statement.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::sql {

struct Dialect {
  // Returns the statements that create the table of locks and the table of lines if they are
  // missing.
  std::vector<std::string> (*tables)(const std::string& table);
  std::string_view state_column;  // type and default of the column "state"
  // False: the column has no default in the tables of an earlier dlock.
  bool state_has_default = true;
  // A statement that returns how many of the columns token, version and state the table $1 has.
  std::string_view own_columns;

  // A statement that returns one row, whose first column is the current time of the server.
  std::string_view clock;
  std::string_view now;  // an expression: the current time, in the type of lock_until
  // Returns an expression for a time (µs since 1970), in the type of lock_until and locked_at.
  std::string (*time_of)(std::int64_t us);
  // Returns an expression that reads lock_until or locked_at; us_in() reads its value.
  std::string (*select_time)(const std::string& column);
  // Returns the time in a value of select_time() or `clock`, in µs since 1970. nullopt: the value
  // is no time.
  std::optional<std::int64_t> (*us_in)(const Value& value);
  // An expression for an empty text, or, if a column of this type cannot keep the times of dlock,
  // for the type of lock_until.
  std::string_view unfit;

  std::string_view equals;  // the operators = and >
  std::string_view is_greater;
  std::string_view locks_rows;  // the end of a SELECT that locks its rows
  std::string_view keeps_row;   // the end of an INSERT that leaves an existing row as it is
  std::string_view put;         // the verb of an INSERT that replaces an existing row
  std::string_view put_end;     // the end of the INSERT that begins with `put`
  // Returns the statement that wakes the waiter or holder with this id. nullptr: the server has no
  // such statement.
  Statement (*wake)(const std::string& id) = nullptr;
};

}  // namespace dlock::sql
