// SPDX-License-Identifier: MIT
// PostgresStore: locks in a database of PostgreSQL 12 or newer: "postgresql://host/database". It
// makes the tables dlock and dlock_line at the first claim, where it may.
//
// A waiter listens on a channel of its own (LISTEN), and so does a holder; a step notifies only the
// first two waiters, when a turn begins, and a holder that is revoked: a commit with NOTIFY takes a
// lock of the whole server. Through a pooler of transactions nothing can be listened to; then
// watching is refused, and waiters poll; the connection is kept.
//
// Promises beside those of TableStore: nothing is committed later than its limit allows
// (statement_timeout), and a dlock that is stopped in the middle blocks others no longer than that
// (idle_in_transaction_session_timeout). A server that may not write answers with an error, never
// with a verdict. Not promised: a grant that an asynchronous replica lacks when it is promoted.
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
  // Parses the URL and adds the password, which the URL need not carry.
  static Result<PgAddress> address_of(const StoreOptions& options);
  // An error: the URL and the TLS settings contradict each other.
  static Result<std::unique_ptr<LockStore>> open(const PgAddress& address,
                                                 const StoreOptions& options);

  std::string where() const override { return session_.where(); }

  // The statements that make the tables; `dlock doctor --ddl` prints them.
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

  // `all[bound]` bounds the transaction.
  Result<std::vector<sql::Answer>> run_guarded(std::vector<sql::Statement>& all,
                                               std::size_t bound,
                                               bool has_line,
                                               Time limit);
  void note_clock(const sql::Answer& clock);
  Result<void> listen(Time limit);

  PgTables tables_;
  PgSession session_;
  std::vector<std::string> channels_;
  int listener_ = 0;        // the server process that listens for us
  bool is_pooled_ = false;  // the newest clock came through a pooler
};

}  // namespace dlock
