// SPDX-License-Identifier: MIT
// Dialect: the parts of SqlStore's SQL that each kind of server spells in its own way. It has only
// data and pure functions; the store of that server sends the statements.
#pragma once

#include "store/sql/statement.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::sql {

struct Dialect {
  // Returns the statements that create the table of locks and the table of lines, if they do not
  // exist.
  std::vector<std::string> (*tables)(const std::string& table);
  std::string_view state_column;  // type and default value of the column "state"
  // False: an earlier dlock may have created the column without a default value.
  bool state_has_default = true;
  // A statement with a table as its parameter $1. It returns how many of the columns token, version
  // and state the table has.
  std::string_view own_columns;

  // A statement that returns one row; the row's first column is the server's current time.
  std::string_view clock;
  std::string_view now;  // an expression: the server's current time, in the type of lock_until
  // Returns an expression for a time, given in µs since 1970, in the type of lock_until and
  // locked_at.
  std::string (*time_of)(std::int64_t us);
  // Returns an expression that reads a column of times, lock_until or locked_at. Its values are for
  // us_in().
  std::string (*select_time)(const std::string& column);
  // Reads a value of select_time() or of `clock`; returns the time in µs since 1970. nullopt: the
  // value is no time.
  std::optional<std::int64_t> (*us_in)(const Value& value);
  // An expression that tests the type of lock_until. Its value is empty if the type can keep the
  // times of dlock; otherwise it is the name of the type, for the error.
  std::string_view unfit;

  std::string_view equals;  // the operators = and >
  std::string_view is_greater;
  std::string_view locks_rows;  // end of a SELECT that locks its rows until the transaction ends
  std::string_view keeps_row;   // end of an INSERT that leaves an existing row unchanged
  std::string_view put;         // first words of an INSERT that replaces an existing row
  std::string_view put_end;     // end of the INSERT that begins with `put`
  // Returns the statement that wakes the waiter or holder with this id. nullptr: this kind of
  // server cannot wake them.
  Statement (*wake)(const std::string& id) = nullptr;
};

}  // namespace dlock::sql
