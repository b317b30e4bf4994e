// SPDX-License-Identifier: MIT
// PgTables: the two tables of a PostgresStore, and whether they can be trusted. Another user who
// may create tables in the schema could have created ours first: its triggers, rules and views
// would run with the rights of each user of dlock, and could let two owners hold one lock. Pure.
#pragma once

#include "store/postgres/pg_session.hpp"

#include <optional>
#include <string>

namespace dlock {

class PgTables {
 public:
  // `table`: an identifier, or SCHEMA.IDENTIFIER.
  explicit PgTables(std::string table);

  // Return the names of the tables for statements. Once the schema is known, the names include it,
  // so that later statements use the same tables.
  const std::string& locks() const { return locks_; }
  const std::string& line() const { return line_; }

  // Returns the statement that sets the timeouts of a transaction (`ms`) and fails with
  // is_refusal() if a table cannot be trusted; then later statements of the message are not even
  // planned. If the table of locks is missing, it fails like any other statement. `in_full`: uses
  // the exact test. Otherwise only tables without triggers and rules that belong to this user, the
  // owner of the database or a superuser pass, which costs the server far less.
  sql::Statement guard(const std::string& ms, bool has_line, bool in_full) const;
  static bool is_refusal(const std::string& sqlstate);
  // Reads the schema from the answer to guard(): the tables are known now.
  void learn(const sql::Answer& answer);
  bool are_known(bool has_line) const { return knows_locks_ && (knows_line_ || !has_line); }

  // Returns the statement that asks why guard() refused a table.
  sql::Statement ask_why() const;
  // Returns why guard() refused a table, with advice, from the answer to ask_why(). nullopt: the
  // tables can be trusted by now.
  static std::optional<std::string> fault_in(const sql::Answer& answer);

 private:
  std::string table_;
  std::string locks_;
  std::string line_;
  bool names_schema_;
  bool knows_locks_ = false;
  bool knows_line_ = false;
};

}  // namespace dlock
