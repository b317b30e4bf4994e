// SPDX-License-Identifier: MIT
// SqlStore: a TableStore over the two tables of lock_row.hpp on a server of SQL. A store of one
// kind of server gives a Dialect, which spells the statements, and run(), which sends them. The
// clock is the server's wall clock; all its times are µs.
//
// A step is one transaction at READ COMMITTED in two messages: lock the rows of the names, in the
// order of the names, and read them, their lines and the clock; then write what has changed and
// commit. A row that is missing is made before, so there is always one to lock. The server says it
// did nothing (a deadlock, a conflict, no table yet): the step is repeated within its limit. Any
// other error leaves the outcome unknown.
//
// The release of one lock is one message if nothing has happened since our newest step: the row is
// as that step wrote it, and no waiter is in its line. The statements check both, and if one of
// them does not hold, the step begins anew.
//
// Other programs may share the table (lock_row.hpp). Where it has only the four columns of ShedLock
// (four_columns.hpp) there is no line, and what four columns cannot keep is Errc::bad_config.
//
// A wall clock that jumps ahead ends leases early, as in Redis.
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
  // The server compares texts as UTF-8; Errc::bad_usage for a name that is not UTF-8.
  Result<std::string> key_of(const LockName& name) const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) final;

 protected:
  // `dialect` has to outlive us. `table`: of the locks; "_line" behind it is the table of the
  // lines.
  SqlStore(const sql::Dialect& dialect, std::string table);

  // How the statements of a run() belong together.
  enum class Scope {
    alone,      // an open transaction is undone; all statements are bounded by the limit
    begins,     // they begin a transaction that writes; the last one may end it
    reads,      // they are one transaction, which sees its tables at one moment
    continues,  // they belong to the open transaction; the last one may end it
  };
  // Which tables the statements use. A store refuses a table (Errc::bad_config) before it first
  // uses it, if another user could have it change locks.
  enum class Uses { no_table, locks, locks_and_line };
  // Carries out the statements in one message and returns an answer for each. After an error
  // nothing is left open.
  virtual Result<std::vector<sql::Answer>> run(const std::vector<sql::Statement>& statements,
                                               Scope scope,
                                               Uses uses,
                                               Time limit) = 0;
  // Why the newest run() failed; the statements did nothing, unless the cause is `other`.
  virtual sql::Cause cause() const = 0;
  // Read just before the first byte of the newest run() was sent.
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
    std::int64_t now_us = 0;         // read after the rows were locked
    Time sent_at{};                  // read before the first byte of the request was sent
    // For a table of four columns: how many of token, version and state it has all the same.
    std::int64_t own_columns = 0;
  };
  enum class Purpose {
    writing,        // the rows are locked, and the transaction is open when load() returns
    reading,        // nothing is locked, and the transaction is over
    reading_locks,  // as `reading`, without lines: their table may be missing
  };
  // `names` are sorted and have no duplicates.
  Result<Rows> load(const std::vector<std::string>& names, Purpose purpose, Time limit);
  // The next k_page names after `name`, or all that are left, without their lines.
  static constexpr std::size_t k_page = 1000;
  Result<Rows> load_behind(const std::string& name, Time limit);
  Result<Rows> load_clock(Time limit);
  Result<Rows> rows_of(const std::vector<std::string>& names,
                       bool has_line,
                       const std::vector<sql::Answer>& answers) const;
  Result<Rows> all_rows_of(const sql::Answer& clock, const sql::Table& locks) const;
  Result<void> make_rows(const std::vector<std::string>& names, Time limit);
  Result<void> make_tables(Time limit);
  // Loaded: load() has begun the transaction. Remembered: write() begins it, locks the rows, and
  // then writes only if locked_by and state are as before, too, and the line has no waiter. The
  // state has the owner's id: a row that was lost and made again may have the same version, and a
  // holder on another host the same text in locked_by.
  enum class Basis { loaded, remembered };
  // Ends the transaction; without a write it is undone. `wakes` as in TableStore::Step. False: a
  // row of dlock is not as it was read (by its version, or locked_by), and was not written.
  Result<bool> write(const std::vector<sql::LockWrite>& writes,
                     const std::vector<std::string>& wakes,
                     Basis basis,
                     Time limit);
  // False: a row was not as in `rows`, and the step may be tried again.
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
  // The row of one lock as our newest step wrote it, if the line had no waiter.
  struct Remembered {
    Rows rows;
    Time all_live_until;  // the first of its leases ends then, or later
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

  std::string table_;  // as the URL has it
  sql::LockStatements say_;
  std::optional<Remembered> remembered_;
};

}  // namespace dlock
