// SPDX-License-Identifier: MIT
// PgTables: the names of the two tables of a PostgresStore, and the tests whether the tables can be
// trusted. Another user with the right to create tables in the schema could have created them
// first. The triggers, rules and views of that user would run with the rights of each user of
// dlock, and could let two owners hold one lock. Pure.
#pragma once

#include "store/postgres/pg_session.hpp"

#include <optional>
#include <string>

namespace dlock {

class PgTables {
 public:
  // `table` is an identifier, or SCHEMA.IDENTIFIER.
  explicit PgTables(std::string table);

  // Return the names of the tables for statements. Once the schema is known, the names include the
  // schema, so that all later statements use the same tables.
  const std::string& locks() const { return locks_; }
  const std::string& line() const { return line_; }

  // Returns the statement that sets the timeouts of a transaction (`ms`), and that fails if a table
  // cannot be trusted (is_refusal()). Then the server does not even plan the later statements that
  // were sent with it. If the table of locks does not exist, the statement fails as any other
  // would. `has_line`: the table of lines is tested, too. `in_full`: the test is exact. Otherwise
  // the test is cheap for the server, and a table passes only if it has no triggers and no rules,
  // and belongs to this user, the owner of the database or a superuser.
  sql::Statement guard(const std::string& ms, bool has_line, bool in_full) const;
  static bool is_refusal(const std::string& sqlstate);
  // Reads the schema from the answer to guard(). From then on the tables are known.
  void learn(const sql::Answer& answer);
  bool are_known(bool has_line) const { return knows_locks_ && (knows_line_ || !has_line); }

  // Returns the statement that asks why guard() has refused a table.
  sql::Statement ask_why() const;
  // Reads the answer to ask_why(): returns why guard() has refused a table, with advice. nullopt:
  // by now the tables can be trusted.
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
