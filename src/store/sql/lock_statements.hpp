// SPDX-License-Identifier: MIT
// LockStatements: every statement that SqlStore sends about its two tables, in a dialect, and the
// locks and times in the answers. Names and texts travel as parameters, numbers within the text.
// Pure.
#pragma once

#include "store/sql/dialect.hpp"
#include "store/sql/lock_row.hpp"
#include "store/sql/statement.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlock::sql {

// The row of a name, as it was read.
struct LockRow {
  std::string name;          // as the server has it
  Value state;               // nullopt: no row; empty: dlock never wrote it
  LockColumns columns = {};  // of an existing row
  std::int64_t version = 0;  // of an existing row; 0 if the table has no such column
  std::string unfit = {};    // why its columns cannot be understood; mostly empty
  lease_table::Line line = {};
};

// What a step writes to one name.
struct LockWrite {
  std::string name;
  const LockRow* before = nullptr;  // as it was read
  bool lock = false;                // writes dlock's row, whose columns are the next three
  LockColumns columns = {};
  FencingToken token = 0;
  std::string state = {};
  LineChange line = {};
};

class LockStatements {
 public:
  LockStatements(const Dialect& dialect, std::string table);

  const Dialect& dialect() const { return dialect_; }
  const std::string& locks() const { return locks_; }
  const std::string& line() const { return line_; }
  // Later statements call the tables so, for instance with their schema.
  void call_tables(std::string locks, std::string line);

  // The table of locks lacks token, version and state: statements neither read nor write these.
  bool has_four_columns() const { return has_four_columns_; }
  void use_four_columns() { has_four_columns_ = true; }

  // The statement that turns a table of four columns into one of dlock's.
  std::string add_columns(const std::string& table) const;
  Statement clock() const { return {std::string(dialect_.clock)}; }
  Statement own_columns() const { return {std::string(dialect_.own_columns), {locks_}}; }
  Statement select_lock(const std::string& name, bool locks_row) const;
  Statement select_locks_behind(const std::string& name, std::size_t count) const;
  Statement select_line(const std::string& name) const;
  Statement lock_row(const std::string& name) const;  // keeps the row for the transaction
  Statement make_row(const std::string& name) const;  // unless it exists
  // Writes the lock if its version is as before, or in a table of four columns its holder. If not
  // `was_read`, also only if holder and state are as before, and the line has no waiter.
  Statement update(const LockWrite& write, bool was_read) const;
  void add_line(std::vector<Statement>& all, const LockWrite& write) const;

  // Whether an answer has the columns of select_lock() …
  static bool has_locks(const Table& table, std::size_t most_rows);
  static bool has_line(const Table& table);
  // … and the lock in one of its rows, without its line.
  LockRow lock_in(const Values& row) const;
  // The server's clock in the answer to clock(), µs since 1970, up to the year 2150. nullopt: the
  // answer is something else.
  std::optional<std::int64_t> clock_in(const Table& answer) const;

 private:
  std::string select_locks() const;
  std::string of_name() const;
  std::int64_t time_in(const Value& value) const;

  const Dialect& dialect_;
  std::string locks_;
  std::string line_;
  bool has_four_columns_ = false;
};

}  // namespace dlock::sql
