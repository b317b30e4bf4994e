// SPDX-License-Identifier: MIT
// PostgresStore: keeps locks in a database of PostgreSQL 12 or newer: "postgresql://host/database".
// The first claim creates the tables dlock and dlock_line if the user has the right to.
//
// Each waiter and each holder listens on a channel of its own (LISTEN). A commit with NOTIFY takes
// a lock of the whole server, so a change of locks notifies as few as possible: the first two
// waiters when a turn begins, and a holder that is revoked. LISTEN does not work through a pooler
// that gives out connections for one transaction at a time. Then watching is refused, waiters ask
// again and again, and the connection is kept.
//
// Promises in addition to those of TableStore: nothing is committed after its limit
// (statement_timeout). If dlock is stopped in the middle of a transaction, others wait for its rows
// no longer than until that limit (idle_in_transaction_session_timeout). A server that may not
// write answers with an error, never with a verdict. It does not promise that an asynchronous
// replica has every grant when it becomes the primary.
#pragma once

#include "store/postgres/pg_session.hpp"
#include "store/postgres/pg_tables.hpp"
#include "store/sql/sql_store.hpp"
#include "store/store_options.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dlock {

class PostgresStore final : public SqlStore {
 public:
  // Returns the address in the URL, with the password from the options if the URL has no password.
  static Result<PgAddress> address_of(const StoreOptions& options);
  // Opens the store. Returns an error if the URL contradicts the TLS settings.
  static Result<std::unique_ptr<LockStore>> open(const PgAddress& address,
                                                 const StoreOptions& options);

  std::string where() const override { return session_.where(); }

  // Returns the statements that create the tables (`dlock doctor --ddl`).
  static std::vector<std::string> tables(const std::string& table);

 private:
  PostgresStore(PgAddress address, const StoreOptions& options);

  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                       Scope scope,
                                       Uses uses,
                                       Time limit) override;
  sql::Cause cause() const override { return session_.failure().cause; }
  Time sent_at() const override { return session_.sent_at(); }
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  std::optional<Duration> looks_every(Watcher who, std::uint64_t place) const override;

  // Runs the statements, with PgTables::guard() in place of `all[bound]`, the statement that sets
  // the timeouts of the transaction.
  Result<std::vector<sql::Answer>> run_guarded(std::vector<sql::Statement>& all,
                                               std::size_t bound,
                                               bool has_line,
                                               Time limit);
  void note_clock(const sql::Answer& clock);
  Result<void> listen(Time limit);

  PgTables tables_;
  PgSession session_;
  std::vector<std::string> channels_;
  int listener_ = 0;        // number of the server process that has our subscriptions
  bool is_pooled_ = false;  // a pooler was between us and the server when the clock was last read
};

}  // namespace dlock
