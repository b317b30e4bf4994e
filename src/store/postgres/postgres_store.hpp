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

  Result<std::vector<PgRows>> run_on_tables(std::vector<PgStatement> all,
                                            std::size_t bound,
                                            bool has_line,
                                            Time limit);
  Result<Rows> load(const std::vector<std::string>& names, Purpose purpose, Time limit) override;
  Result<void> make_rows(const std::vector<std::string>& names, Time limit) override;
  Result<bool> write(const std::vector<Write>& writes,
                     const std::vector<std::string>& wakes,
                     Basis basis,
                     Time limit) override;
  Result<void> make_tables(Time limit) override;
  Result<Rows> load_behind(const std::string& name, Time limit) override;
  Result<Rows> load_clock(Time limit) override;
  Cause cause() const override;
  const std::string& table() const override { return table_; }
  std::string missing_columns() const override;
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  std::optional<Duration> looks_every(Watcher who, std::uint64_t place) const override;

  void note_clock(PgRows& clock);  // of k_clock, whose time becomes microseconds
  Result<void> listen(Time limit);
  std::string select_lock() const;
  void add_write(std::vector<PgStatement>& all, const Write& one, Basis basis) const;

  std::string table_;
  PgTables tables_;
  PgSession session_;
  std::vector<std::string> channels_;
  int listener_ = 0;        // the server process that listens for us
  bool is_pooled_ = false;  // the newest clock came through a pooler
};

}  // namespace dlock
