// SPDX-License-Identifier: MIT
// MysqlStore: locks in a database of MariaDB 10.6 or newer, or MySQL 8: "mysql://host/database". It
// makes the tables dlock and dlock_line at the first claim, where it may.
//
// The server cannot wake a waiter: waiters look, the first two 20 times a second, the others four
// times (a turn lasts a second), and a holder every two seconds.
//
// Promises beside those of TableStore: a step whose dlock was stopped in the middle blocks others
// no longer than its limit (on MariaDB; MySQL has no such limit, and keeps the rows until the
// connection ends). A server that may not write answers with an error, never with a verdict. Not
// promised: that an asynchronous replica has every grant when it is promoted.
#pragma once

#include "store/mysql/my_session.hpp"
#include "store/sql/sql_store.hpp"
#include "store/store_options.hpp"
#include "sys/file_events.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dlock {

class MysqlStore final : public SqlStore {
 public:
  // Parses the URL and adds the password, which the URL need not carry.
  static Result<MyAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<MysqlStore> open(const MyAddress& address, const StoreOptions& options);

  std::string where() const override { return session_.where(); }

  // The statements that make the tables; `dlock doctor --ddl` prints them.
  static std::vector<std::string> tables(const std::string& table);

 private:
  MysqlStore(MyAddress address, const Interrupt* interrupt);

  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                       Scope scope,
                                       Uses uses,
                                       Time limit) override;
  sql::Cause cause() const override { return session_.cause(); }
  Time sent_at() const override { return session_.sent_at(); }
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  std::optional<Duration> looks_every(Watcher who, std::uint64_t place) const override;

  Result<void> trusts(const sql::Answer& table);

  // The table is of InnoDB and has no trigger that this user sees: asked before the first write.
  bool knows_locks_ = false;
  bool knows_line_ = false;
  const Interrupt* interrupt_;
  MySession session_;
  FileEvents nothing_;  // watches nothing: only to sleep
  Time watched_since_{};
};

}  // namespace dlock
