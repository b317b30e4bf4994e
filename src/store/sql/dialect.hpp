// SPDX-License-Identifier: MIT
// Dialect: how one kind of server spells the SQL of SqlStore. Data and pure functions: what a
// server does is in its store.
#pragma once

#include "store/sql/statement.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::sql {

struct Dialect {
  // Returns the statements that make the table of locks and the table of lines, where they are
  // missing.
  std::vector<std::string> (*tables)(const std::string& table);
  std::string_view state_column;  // type and default of the column "state"
  // A statement. Returns how many of the columns token, version and state the table named $1 has.
  std::string_view own_columns;

  // A statement. The first column of its only row is the server's clock at that moment.
  std::string_view clock;
  std::string_view now;  // an expression: the server's clock, as lock_until and locked_at keep it
  // An expression that keeps a time in lock_until or locked_at: µs since 1970.
  std::string (*time_of)(std::int64_t us);
  // An expression that reads such a column …
  std::string (*select_time)(const std::string& column);
  // … and the µs since 1970 in its value, or in the value of `clock`. nullopt: it is no time.
  std::optional<std::int64_t> (*us_in)(const Value& value);
  // An expression: why lock_until has a type that keeps no such time. Empty: it keeps it.
  std::string_view unfit;

  std::string_view equals;  // operators
  std::string_view is_greater;
  std::string_view locks_rows;  // the end of a SELECT: keeps its rows for the transaction
  std::string_view keeps_row;   // the end of an INSERT that leaves a row that exists as it is
  std::string_view put;         // the verb of an INSERT that replaces a row of the line …
  std::string_view put_end;     // … and its end
  // Returns the statement that wakes the waiter or holder with this id. nullptr: there is no such
  // statement.
  Statement (*wake)(const std::string& id) = nullptr;
};

}  // namespace dlock::sql
