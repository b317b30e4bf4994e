// SPDX-License-Identifier: MIT
// SqlStore: a TableStore over the two tables of lock_row.hpp on an SQL server. A derived store for
// one kind of server adds a Dialect, which spells the statements, and run(), which sends them. The
// clock is the server's wall clock, in µs.
//
// A step is one transaction at READ COMMITTED, in two messages: the first locks the rows of the
// names, in the order of the names, and reads the rows, their lines and the clock; the second
// writes what has changed and commits. Missing rows are created before the step, so that there is
// always a row to lock. If the server reports that it did nothing (a deadlock, a conflict, no table
// yet), the step is repeated within its limit. After any other error the outcome is unknown.
//
// The release of one lock is one message if nothing has happened since our newest step: the row is
// still as that step wrote it, and the line has no waiter. The statements check both conditions; if
// either fails, the step starts anew with two messages.
//
// Other programs may share the table (lock_row.hpp). A table with only the four columns of ShedLock
// (four_columns.hpp) has no line; what four columns cannot keep is refused with Errc::bad_config.
//
// If the wall clock jumps ahead, leases end early, as in Redis.
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
  // Returns the name itself. Errc::bad_usage: the name is not UTF-8, as texts on the server are.
  Result<std::string> key_of(const LockName& name) const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) final;

 protected:
  // `dialect` must outlive this store. `table`: the table of locks; the table of lines is
  // `table`_line.
  SqlStore(const sql::Dialect& dialect, std::string table);

  // Which transaction the statements of a run() belong to.
  enum class Scope {
    alone,      // to none: an open transaction is rolled back first
    begins,     // to a new one that writes; the last statement may end it
    reads,      // to a new one of their own, which sees the tables at one moment
    continues,  // to the open one; the last statement may end it
  };
  // Which tables the statements use. Before its first use of a table, a store refuses it
  // (Errc::bad_config) if another user could make it change locks.
  enum class Uses { no_table, locks, locks_and_line };
  // Executes the statements, sent in one message, and returns an answer for each. After an error no
  // transaction is open.
  virtual Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                               Scope scope,
                                               Uses uses,
                                               Time limit) = 0;
  // Returns why the newest run() failed. Unless the cause is `other`, the statements had no effect.
  virtual sql::Cause cause() const = 0;
  // Returns the time just before the first byte of the newest run() was sent.
  virtual Time sent_at() const = 0;

  const sql::LockStatements& say() const { return say_; }
  void call_tables(std::string locks, std::string line);

 private:
  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) final;
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) final;
  // The rows of some names.
  struct Rows {
    std::vector<sql::LockRow> rows;  // in the order of the names
    std::int64_t now_us = 0;         // the server's clock after the rows were locked
    Time sent_at{};                  // a time before the first byte of the request was sent
    // For a table that counts as one of four columns: how many of token, version and state it has.
    std::int64_t own_columns = 0;
  };
  enum class Purpose {
    writing,        // the rows are locked; the transaction stays open after load()
    reading,        // nothing is locked, and no transaction is open after load()
    reading_locks,  // as `reading`, without the table of lines, which may be missing
  };
  // Returns the rows of the names, which must be sorted and have no duplicates.
  Result<Rows> load(const std::vector<std::string>& names, Purpose purpose, Time limit);
  static constexpr std::size_t k_page = 1000;
  // Returns the first rows whose names are greater than `name`, k_page at most, without their
  // lines.
  Result<Rows> load_behind(const std::string& name, Time limit);
  Result<Rows> load_clock(Time limit);
  Result<Rows> rows_of(const std::vector<std::string>& names,
                       bool has_line,
                       const std::vector<sql::Answer>& answers) const;
  Result<Rows> all_rows_of(const sql::Answer& clock, const sql::Table& locks) const;
  Result<void> make_rows(const std::vector<std::string>& names, Time limit);
  Result<void> make_tables(Time limit);
  // What a step is based on. Loaded: load() has read the rows and begun the transaction.
  // Remembered: write() begins it, locks the rows, and writes only if locked_by and state are as
  // remembered, too, and the line has no waiter. The version alone is not enough: a row that was
  // lost and created again may have the same version, and a holder on another host the same
  // locked_by; the state has the unique id of the owner.
  enum class Basis { loaded, remembered };
  // Writes and commits; rolls back if there is nothing to write. `wakes`: as
  // TableStore::Step::wakes. Returns false if a row of a lock has changed (by version or locked_by)
  // and was not written.
  Result<bool> write(const std::vector<sql::LockWrite>& writes,
                     const std::vector<std::string>& wakes,
                     Basis basis,
                     Time limit);
  // Carries out one step. Returns false if a row had changed and the step may be repeated.
  Result<bool> step(const Rows& rows,
                    Basis basis,
                    const std::vector<LockName>& names,
                    Time limit,
                    const Change& change);
  Result<std::vector<sql::LockWrite>> writes_of(const std::vector<LockName>& names,
                                                const std::vector<lease_table::StoredLock>& before,
                                                const std::vector<lease_table::StoredLock>& after,
                                                const Moment& moment,
                                                bool writes_locks) const;
  // The row of one lock as our newest step wrote it. Only rows without waiters are remembered.
  struct Remembered {
    Rows rows;
    Time all_live_until;  // no lease in the row ends before this time
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

  std::string table_;  // as in the URL
  sql::LockStatements say_;
  std::optional<Remembered> remembered_;
};

}  // namespace dlock
