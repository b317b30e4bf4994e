// SPDX-License-Identifier: MIT
// LockStatements: makes all statements that SqlStore sends about its two tables, in the dialect of
// the server, and reads the locks and times in their answers. Names and texts are sent as
// parameters; numbers are part of a statement's text. Pure.
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

// The row of one name, as it was read from the table.
struct LockRow {
  std::string name;  // the name in the table
  // nullopt: there is no row; empty: the row exists, but dlock has never written it.
  Value state;
  LockColumns columns = {};  // set if the row exists
  std::int64_t version = 0;  // 0 if there is no row, or if the table has no column "version"
  // Why the type of lock_until cannot keep the times of dlock; empty: it can.
  std::string unfit = {};
  lease_table::Line line = {};
};

// What SqlStore writes for one name in one transaction.
struct LockWrite {
  std::string name;
  const LockRow* before = nullptr;  // the row as it was read before
  bool lock = false;                // whether to write the row itself, not only the line
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
  // Sets the names of the two tables in later statements; a name may include a schema.
  void call_tables(std::string locks, std::string line);

  // Returns whether the table of locks has only the four columns of ShedLock. If so, no statement
  // names the columns token, version and state.
  bool has_four_columns() const { return has_four_columns_; }
  void use_four_columns() { has_four_columns_ = true; }

  // Returns the statement that adds dlock's columns to a table with the four columns of ShedLock.
  std::string add_columns(const std::string& table) const;
  Statement clock() const { return {std::string(dialect_.clock)}; }
  Statement own_columns() const { return {std::string(dialect_.own_columns), {locks_}}; }
  Statement select_lock(const std::string& name, bool locks_row) const;
  Statement select_locks_behind(const std::string& name, std::size_t count) const;
  Statement select_line(const std::string& name) const;
  Statement lock_row(const std::string& name) const;  // locks the row until the transaction ends
  Statement make_row(const std::string& name) const;  // creates the row if it does not exist
  // Returns the UPDATE that writes the lock if its row has the same version as before (in a table
  // of four columns, the same locked_by). `was_read` is false if this transaction has not read the
  // row. Then the UPDATE also requires that locked_by and state are as before and that the line is
  // empty.
  Statement update(const LockWrite& write, bool was_read) const;
  // Adds the statements that write what has changed in the line.
  void add_line(std::vector<Statement>& all, const LockWrite& write) const;

  // Returns whether an answer to select_lock() has the columns that lock_in() reads.
  static bool has_locks(const Table& table, std::size_t most_rows);
  static bool has_line(const Table& table);
  // Returns the lock in one row of that answer, without its line.
  LockRow lock_in(const Values& row) const;
  // Returns the time in the answer to clock(), in µs since 1970. nullopt: there is no time in it,
  // or one after the year 2150.
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
