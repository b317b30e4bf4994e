// SPDX-License-Identifier: MIT
// MysqlStore: locks in a database of MariaDB 10.6 or newer, or MySQL 8: "mysql://host/database".
// The first claim creates the tables dlock and dlock_line if the user may do so.
//
// The server cannot wake a waiter, so waiters poll: the first two 20 times a second, the others
// four times a second (a turn lasts one second), and a holder every two seconds.
//
// Promises in addition to those of TableStore: if dlock is stopped in the middle of a step, the
// step blocks others no longer than its limit (on MariaDB; MySQL has no such limit and keeps the
// rows locked until the connection ends). A server that may not write answers with an error, never
// with a verdict. Not promised: that an asynchronous replica has every grant when it is promoted.
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
  // Returns the address in the URL. If the URL has no password, the password comes from the
  // options.
  static Result<MyAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<MysqlStore> open(const MyAddress& address, const StoreOptions& options);

  std::string where() const override { return session_.where(); }

  // Returns the statements that create the tables; `dlock doctor --ddl` prints them.
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

  // Whether the table of locks, and that of lines, was examined before its first write: its engine
  // is InnoDB, and this user sees no trigger on it.
  bool knows_locks_ = false;
  bool knows_line_ = false;
  const Interrupt* interrupt_;
  MySession session_;
  FileEvents nothing_;  // watches nothing; only used to sleep
  Time watched_since_{};
};

}  // namespace dlock
