// SPDX-License-Identifier: MIT
// LockStatements: all statements that SqlStore sends about its two tables, spelled in a dialect;
// and functions that read the locks and times in the answers. Names and texts are sent as
// parameters, numbers are part of the text. Pure.
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
  std::string name;          // as stored in the table
  Value state;               // nullopt: there is no row; empty: dlock never wrote it
  LockColumns columns = {};  // set if the row exists
  std::int64_t version = 0;  // 0 if there is no row, or the table has no such column
  std::string unfit = {};    // why lock_until cannot keep the times of dlock; empty: it can
  lease_table::Line line = {};
};

// What a step writes to one name.
struct LockWrite {
  std::string name;
  const LockRow* before = nullptr;  // the row as it was read
  bool lock = false;                // write the row of the lock: columns, token and state
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
  // Sets the names of the tables for later statements, for instance with a schema.
  void call_tables(std::string locks, std::string line);

  // Returns whether the table of locks has only the four columns of ShedLock; then the statements
  // neither read nor write token, version and state.
  bool has_four_columns() const { return has_four_columns_; }
  void use_four_columns() { has_four_columns_ = true; }

  // Returns the statement that adds the columns of dlock to a table of four columns.
  std::string add_columns(const std::string& table) const;
  Statement clock() const { return {std::string(dialect_.clock)}; }
  Statement own_columns() const { return {std::string(dialect_.own_columns), {locks_}}; }
  Statement select_lock(const std::string& name, bool locks_row) const;
  Statement select_locks_behind(const std::string& name, std::size_t count) const;
  Statement select_line(const std::string& name) const;
  Statement lock_row(const std::string& name) const;  // locks the row until the transaction ends
  Statement make_row(const std::string& name) const;  // creates the row if it is missing
  // Returns the UPDATE that writes the lock if the version is as before; in a table of four
  // columns, if locked_by is as before. Without `was_read` (the transaction has not read the row),
  // also locked_by and state must be as before, and the line must be empty.
  Statement update(const LockWrite& write, bool was_read) const;
  // Adds the statements that write the changes of the line.
  void add_line(std::vector<Statement>& all, const LockWrite& write) const;

  // Returns whether an answer to select_lock() has the columns of a lock.
  static bool has_locks(const Table& table, std::size_t most_rows);
  static bool has_line(const Table& table);
  // Returns the lock in a row of such an answer, without its line.
  LockRow lock_in(const Values& row) const;
  // Returns the time in the answer to clock(), in µs since 1970. nullopt: the answer has no time,
  // or one after 2150.
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
