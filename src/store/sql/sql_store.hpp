// SPDX-License-Identifier: MIT
// SqlStore: a TableStore that keeps locks in two tables of an SQL server (lock_row.hpp). For each
// kind of server there is a derived store. It adds a Dialect, which spells the statements, and
// run(), which sends them. The clock is the server's wall clock, in µs.
//
// A step (one change of the locks of some names) is one transaction at READ COMMITTED, in two
// messages. The first message locks the rows of the names, in the order of the names, and reads the
// rows, their lines and the clock. The second message writes what has changed, and commits. Missing
// rows are created before the step, so that there is always a row to lock. If the server reports
// that it has done nothing (a deadlock, a conflict, a missing table), the step is repeated within
// its limit. After any other error it is unknown whether the step was carried out.
//
// The release of a lock takes only one message if the row is still as our newest step wrote it and
// the line has no waiter. The statements in this message check both conditions. If one is not met,
// the step starts anew, with two messages.
//
// Other programs may use the same table (lock_row.hpp). If the table has only the four columns of
// ShedLock, there is no line, and what four columns cannot keep is refused with Errc::bad_config
// (four_columns.hpp).
//
// If the server's wall clock jumps ahead, leases end too early, as in Redis.
#pragma once

#include "store/sql/dialect.hpp"
#include "store/sql/lock_row.hpp"
#include "store/sql/lock_statements.hpp"
#include "store/sql/statement.hpp"
#include "store/table/table_store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class SqlStore : public TableStore {
 public:
  StoreTraits traits() const final;
  // Returns the name itself as the key. Errc::bad_usage: the name is not UTF-8, as texts on the
  // server must be.
  Result<std::string> key_of(const LockName& name) const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) final;

 protected:
  // `dialect` must live longer than this store. `table` is the table of locks; the table of lines
  // has the same name with "_line" behind it.
  SqlStore(const sql::Dialect& dialect, std::string table);

  // To which transaction the statements of a run() belong.
  enum class Scope {
    alone,   // to none; an open transaction is rolled back first
    begins,  // to a new transaction that writes; the last statement may end it
    // To a new transaction of their own, which sees the tables as they are at one moment.
    reads,
    continues,  // to the open transaction; the last statement may end it
  };
  // Which of the tables the statements use. At the latest before its first write to a table, a
  // store refuses the table (Errc::bad_config) if another user could make it change locks by
  // itself, as with a trigger.
  enum class Uses { no_table, locks, locks_and_line };
  // Executes the statements, which are sent in one message, and returns an answer for each. After
  // an error no transaction is open.
  virtual Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                               Scope scope,
                                               Uses uses,
                                               Time limit) = 0;
  // Returns why the newest run() failed. For every cause except `other`, its statements had no
  // effect.
  virtual sql::Cause cause() const = 0;
  // Returns a time just before the first byte of the newest run() was sent.
  virtual Time sent_at() const = 0;

  // Called before a change of locks, to tell the store for what it is.
  virtual void prepare(const Occasion& /*occasion*/) {}
  // Returns the statement that wakes a waiter after a change of locks is committed; nullopt: the
  // store has none. Dialect::wake makes those that the commit itself carries out.
  virtual std::optional<sql::Statement> ring() { return std::nullopt; }

  // Its first message is a run() with Scope::reads.
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) final;

  const sql::LockStatements& say() const { return say_; }
  void call_tables(std::string locks, std::string line);

 private:
  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) final;
  // The rows of some names, as load() has read them.
  struct Rows {
    std::vector<sql::LockRow> rows;  // in the order of the names
    std::int64_t now_us = 0;         // the server's clock, read after the rows were locked
    Time sent_at{};                  // a time before the first byte of the request was sent
    // How many of the columns token, version and state the table has; set only if the table counts
    // as one of four columns.
    std::int64_t own_columns = 0;
  };
  enum class Purpose {
    writing,        // locks the rows; the transaction is still open after load()
    reading,        // locks nothing; no transaction is open after load()
    reading_locks,  // as `reading`, but without the table of lines, which may not exist
  };
  // Reads the rows of the names. The names must be sorted, without duplicates.
  Result<Rows> load(const std::vector<std::string>& names, Purpose purpose, Time limit);
  static constexpr std::size_t k_page = 1000;
  // Returns the first k_page rows whose names are greater than `name`, in the order of names,
  // without their lines.
  Result<Rows> load_behind(const std::string& name, Time limit);
  Result<Rows> load_clock(Time limit);
  Result<Rows> rows_of(const std::vector<std::string>& names,
                       bool has_line,
                       const std::vector<sql::Answer>& answers) const;
  Result<Rows> all_rows_of(const sql::Answer& clock, const sql::Table& locks) const;
  Result<void> make_rows(const std::vector<std::string>& names, Time limit);
  Result<void> make_tables(Time limit);
  // What a step is based on. `loaded`: load() has read the rows in the transaction that is now
  // open. `remembered`: the step uses a row that an earlier step wrote. Then write() begins the
  // transaction, locks the row, and writes only if version, locked_by and state are as remembered
  // and the line has no waiter. An equal version would not be enough: a row that was lost and
  // created again may have the same version. Even locked_by may be equal then; but the state has
  // the unique id of the owner.
  enum class Basis { loaded, remembered };
  // Writes and commits; rolls back if there is nothing to write. `wakes` are the ids of waiters and
  // holders to wake (TableStore::Step::wakes). Returns false if a lock was not written because its
  // row has changed.
  Result<bool> write(const std::vector<sql::LockWrite>& writes,
                     const std::vector<std::string>& wakes,
                     Basis basis,
                     Time limit);
  // Carries out one change of locks. Returns false if it had no effect, because a row had changed
  // or because a change based on a remembered row writes no lock; then the change may start anew.
  Result<bool> step(const Rows& rows,
                    Basis basis,
                    const std::vector<LockName>& names,
                    Time limit,
                    const Change& change);
  Result<std::vector<sql::LockWrite>> writes_of(const std::vector<LockName>& names,
                                                const std::vector<lease_table::StoredLock>& before,
                                                const std::vector<lease_table::StoredLock>& after,
                                                const Moment& moment,
                                                const Step& step) const;
  // The row of one lock as this process has written it in its newest change of locks. A row is
  // remembered only if it has no waiters.
  struct Remembered {
    Rows rows;
    Time all_live_until;  // the first of the leases in the row ends at this time
  };
  void remember(const Rows& rows,
                const std::vector<sql::LockWrite>& writes,
                const lease_table::StoredLock& lock);
  static bool is_as_remembered(const Remembered& remembered,
                               const std::vector<LockName>& names,
                               const Occasion& occasion);
  static bool is_unchanged(const Remembered& remembered, const Rows& rows);
  void undo(Time limit);
  Error row_stays(const std::string& why) const;
  Error strange_answer() const;
  std::optional<Error> refuses(const Claim& claim) const final;
  bool learns_columns();
  Result<Rows> load_to_write(const std::vector<std::string>& names, Time limit);
  Result<Rows> load_to_read(const std::vector<std::string>& names, Time limit);
  Result<lease_table::StoredLock> lock_of(const std::string& name,
                                          const sql::LockRow& row,
                                          std::int64_t now_us) const;
  Result<std::vector<lease_table::StoredLock>> locks_of(const std::vector<LockName>& names,
                                                        const Rows& rows) const;
  Result<sql::LockWrite> write_of(const std::string& name,
                                  const lease_table::StoredLock& lock,
                                  const Moment& moment) const;
  Error too_few_columns() const;
  Error unknown_columns() const;

  std::string table_;  // the table of locks, as the URL names it
  sql::LockStatements say_;
  std::optional<Remembered> remembered_;
};

}  // namespace dlock
