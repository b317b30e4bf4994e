// SPDX-License-Identifier: MIT
// MysqlStore: keeps locks in a database of MariaDB 10.6 or newer, or MySQL 8:
// "mysql://host/database". The first claim creates the tables dlock and dlock_line if the user has
// the right to.
//
// In MariaDB a waiter sleeps in the server until the one before it has gone (my_bell.hpp). The
// first two in line also look three times a second, the others every 0.6 s, because a turn lasts
// only a second. Where the server cannot wake them, and in MySQL, waiters poll: the first two 20
// times a second, the others four times. A holder asks every two seconds whether it still has the
// lock.
//
// Promises in addition to those of TableStore: if dlock is stopped in the middle of a transaction,
// others wait for its rows no longer than until its limit. That holds on MariaDB; MySQL has no such
// limit and keeps the rows locked until the connection ends. A server that may not write answers
// with an error, never with a verdict. It does not promise that an asynchronous replica has every
// grant when it becomes the primary.
#pragma once

#include "store/mysql/my_bell.hpp"
#include "store/mysql/my_session.hpp"
#include "store/sql/sql_store.hpp"
#include "store/store_options.hpp"
#include "sys/file_events.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

class MysqlStore final : public SqlStore {
 public:
  // Returns the address in the URL, with the password from the options if the URL has no password.
  static Result<MyAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<MysqlStore> open(const MyAddress& address, const StoreOptions& options);

  std::string where() const override { return session_.where(); }

  // Returns the statements that create the tables (`dlock doctor --ddl`).
  static std::vector<std::string> tables(const std::string& table);

 private:
  MysqlStore(MyAddress address, const Interrupt* interrupt);

  Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                       Scope scope,
                                       Uses uses,
                                       Time limit) override;
  sql::Cause cause() const override { return session_.cause(); }
  Time sent_at() const override { return session_.sent_at(); }
  void prepare(const Occasion& occasion) override;
  std::optional<sql::Statement> ring() override { return bell_.release(); }
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  Result<bool> await_and_look(Time until, const Look& look) override;
  std::optional<Duration> looks_every(Watcher who, std::uint64_t place) const override;

  Result<void> trusts(const sql::Answer& table);

  // Whether the table of locks, or of lines, has been examined: its engine is InnoDB, and this user
  // sees no trigger on it. That is done before the first write to it.
  bool knows_locks_ = false;
  bool knows_line_ = false;
  const Interrupt* interrupt_;
  MySession session_;
  MyBell bell_;
  // A wait for the bell of `predecessor`, which the next look sends before it reads.
  struct Wait {
    std::string predecessor;
    Time until;
  };
  std::optional<Wait> wait_;
  FileEvents nothing_;  // watches no file; it is only used to sleep until an interrupt
  std::vector<LockName> watched_;
  Time watched_since_{};
};

}  // namespace dlock
