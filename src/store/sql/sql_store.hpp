// SPDX-License-Identifier: MIT
// SqlStore: a TableStore over the two tables of lock_row.hpp on a server of SQL, which each kind of
// server speaks in its own dialect. The clock is the server's wall clock; all its times are µs.
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

#include "store/sql/lock_row.hpp"
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
  // The row of a name, as it was read.
  struct Row {
    std::string name;                  // as the server has it
    std::optional<std::string> state;  // nullopt: no row; empty: dlock never wrote it
    sql::LockColumns columns = {};     // of an existing row
    std::int64_t version = 0;          // of an existing row; 0 if the table has no such column
    std::string unfit = {};            // why its columns cannot be understood; mostly empty
    lease_table::Line line = {};
  };
  struct Rows {
    std::vector<Row> rows;    // in the order of the names
    std::int64_t now_us = 0;  // read after the rows were locked
    Time sent_at{};           // read before the first byte of the request was sent
    // For a table of four columns: how many of token, version and state it has all the same.
    std::int64_t own_columns = 0;
  };
  // A step's write to one name.
  struct Write {
    std::string name;
    const Row* before = nullptr;  // as it was read
    bool lock = false;            // writes dlock's row, whose columns are the next four
    sql::LockColumns columns = {};
    FencingToken token = 0;
    std::string state = {};
    sql::LineChange line = {};
  };
  enum class Cause { other, repeat, no_table, no_column };

  enum class Purpose {
    writing,        // the rows are locked, and the transaction is open when it returns
    reading,        // nothing is locked, and the transaction is over
    reading_locks,  // as `reading`, without lines: their table may be missing
  };
  // Begins the transaction: `names` are sorted and have no duplicates.
  virtual Result<Rows> load(const std::vector<std::string>& names, Purpose purpose, Time limit) = 0;
  // Undoes the transaction, and makes the missing rows of these names.
  virtual Result<void> make_rows(const std::vector<std::string>& names, Time limit) = 0;
  // Loaded: load() has begun the transaction. Remembered: write() begins it, locks the rows, and
  // then writes only if locked_by and state are as before, too, and the line has no waiter. The
  // state has the owner's id: a row that was lost and made again may have the same version, and a
  // holder on another host the same text in locked_by.
  enum class Basis { loaded, remembered };
  // Ends the transaction; without a write it is undone. `wakes` as in TableStore::Step. False: a
  // row of dlock is not as it was read (by its version, or locked_by), and was not written.
  virtual Result<bool> write(const std::vector<Write>& writes,
                             const std::vector<std::string>& wakes,
                             Basis basis,
                             Time limit) = 0;
  virtual Result<void> make_tables(Time limit) = 0;
  // The next k_page names after `name`, or all that are left, without their lines.
  static constexpr std::size_t k_page = 1000;
  virtual Result<Rows> load_behind(const std::string& name, Time limit) = 0;
  virtual Result<Rows> load_clock(Time limit) = 0;  // no names
  // Why the newest failed call failed; it did nothing, unless the cause is `other`.
  virtual Cause cause() const = 0;
  virtual const std::string& table() const = 0;
  virtual std::string missing_columns() const = 0;  // the statement that adds them

  // The table lacks token, version and state: these are neither read (`state` is empty) nor
  // written, and there is no table of lines.
  bool has_four_columns() const { return has_four_columns_; }
  bool has_line(Purpose purpose) const {
    return purpose != Purpose::reading_locks && !has_four_columns_;
  }
  // Reads the answer to load(): a lock for each name, the clock, then lines (if there are any), and
  // for four columns how many of dlock's own there are. A lock is a row of name, state, lock_until,
  // locked_at (µs), locked_by, version and the type of lock_until if that does not fit.
  // Errc::protocol: the server has answered with something else.
  Result<Rows> rows_of(const std::vector<std::string>& names,
                       Purpose purpose,
                       const std::vector<const sql::Table*>& answers,
                       Time sent_at) const;
  // Reads the answer to load_behind().
  Result<Rows> all_rows_of(const sql::Table& clock, const sql::Table& locks, Time sent_at) const;

 private:
  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) final;
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) final;
  // False: a row was not as in `rows`, and the step may be tried again.
  Result<bool> step(const Rows& rows,
                    Basis basis,
                    const std::vector<LockName>& names,
                    Time limit,
                    const Change& change);
  Result<std::vector<Write>> writes_of(const std::vector<LockName>& names,
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
                const std::vector<Write>& writes,
                const lease_table::StoredLock& lock);
  static bool is_as_remembered(const Remembered& remembered,
                               const std::vector<LockName>& names,
                               const Occasion& occasion);
  static bool is_unchanged(const Remembered& remembered, const Rows& rows);
  void undo(Time limit);
  Error row_stays(const std::string& why) const;
  Error strange_answer() const;
  static Row row_of(const sql::Values& values);
  std::optional<Error> refuses(const Claim& claim) const final;
  bool learns_columns();
  Result<Rows> load_to_write(const std::vector<std::string>& names, Time limit);
  Result<Rows> load_to_read(const std::vector<std::string>& names, Time limit);
  Result<lease_table::StoredLock> lock_of(const std::string& name,
                                          const Row& row,
                                          std::int64_t now_us) const;
  Result<std::vector<lease_table::StoredLock>> locks_of(const std::vector<LockName>& names,
                                                        const Rows& rows) const;
  Result<Write> write_of(const std::string& name,
                         const lease_table::StoredLock& lock,
                         const Moment& moment) const;
  Error too_few_columns() const;
  Error unknown_columns() const;

  bool has_four_columns_ = false;  // by the newest error
  std::optional<Remembered> remembered_;
};

}  // namespace dlock
