// SPDX-License-Identifier: MIT
// The two tables of a PostgresStore, and whether they can be trusted. If others may make tables in
// the schema, one of them may have made these first: their triggers, rules and views would run with
// the rights of each user of dlock, and could let two hold one lock. Pure.
#pragma once

#include "store/postgres/pg_session.hpp"

#include <optional>
#include <string>

namespace dlock {

class PgTables {
 public:
  // An identifier, perhaps after its schema.
  explicit PgTables(std::string table);

  // For statements; with the schema once it is known, so that later statements mean the same
  // tables.
  const std::string& locks() const { return locks_; }
  const std::string& line() const { return line_; }

  // Sets the timeouts of a transaction, in ms, and is an error (is_refusal()) if a table cannot be
  // trusted, so later statements are not carried out, not even planned. Without the first table it
  // is the error of any statement. Unless `in_full`, it trusts only tables of this user, of the
  // database's owner and of superusers, which costs the server far less.
  sql::Statement guard(const std::string& ms, bool has_line, bool in_full) const;
  static bool is_refusal(const std::string& sqlstate);
  void learn(const sql::Answer& answer);
  bool are_known(bool has_line) const { return knows_locks_ && (knows_line_ || !has_line); }

  // After a refusal: asks for its reason, and reads the reason, with advice.
  sql::Statement ask_why() const;
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
