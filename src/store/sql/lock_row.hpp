// SPDX-License-Identifier: MIT
// How an SQL database keeps a lock: what the columns contain, how to read a row that another
// program may have written, and which rows of a line have changed. A database has two tables:
//
//   dlock       name, lock_until, locked_at, locked_by, token, version, state
//   dlock_line  name, arrival, waiter, alive_until, who
//
// The first four columns of `dlock` are those of ShedLock, which may use the same table. ShedLock
// writes these four to acquire or extend a lock, and ignores the others. `state` is JSON
// (record_json.hpp). It counts only if `locked_by` is still the text that dlock wrote together with
// it. If the text is another, ShedLock has written the row since then: the leases in `state` are
// over, and ShedLock holds the lock until `lock_until`. Every write by dlock increments `version`.
#pragma once

#include "store/sql/statement.hpp"
#include "store/table/lease_table.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::sql {

inline constexpr std::int64_t k_us_per_ms = 1000;
// Returns a time of the database server's clock in µs since 1970.
std::int64_t us_of(lease_table::StoreTime time);

// The columns of a lock that ShedLock reads, too. Times are µs since 1970, by the server's wall
// clock. dlock writes lock_until in whole seconds, because some tables keep no fractions: it rounds
// up the end of a lease, and rounds down if the lock is free.
struct LockColumns {
  std::int64_t lock_until_us = 0;  // end of the lease that ends last; of a free lock, the present
  std::int64_t locked_at_us = 0;   // when the newest hold was granted; 0: do not write the column
  // Holder of the newest hold, "user@host pid 812"; empty: the lock is free.
  std::string locked_by;
};
// Returns the text for locked_by. It is ASCII, which every character set can keep, and every
// version of dlock writes the same text for a hold. So if the column contains another text, another
// program wrote it.
std::string holder_column(const HoldRecord& hold);
// Returns the hold of the program, other than dlock, that wrote the row.
lease_table::ForeignHold foreign_hold(const LockColumns& columns);

LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);

// Returns the lock in a row, without its line. nullopt: the state is damaged, or is that of another
// name.
std::optional<lease_table::StoredLock> lock_of(const std::string& name,
                                               const std::string& state,
                                               const LockColumns& columns);

// Returns the place that a row of dlock_line describes. `who` is what the column of that name says.
lease_table::Place place_of(std::int64_t arrival_us,
                            std::string id,
                            lease_table::StoreTime alive_until,
                            std::string who);

// These functions accept any row, because a server may answer with anything.
std::string text_at(const Values& row, std::size_t column);  // empty: the column is NULL or missing
// Returns the number at the beginning of the column's text: 5 for "5.00", 0 for a text without one.
std::int64_t number_at(const Values& row, std::size_t column);
// Returns the number in the value, or the nearest that fits into 64 bits. nullopt: it is no number.
std::optional<std::int64_t> number_in(const Value& value);
// Limits a time in µs since 1970 to the range from 0 to lease_table::k_latest_ms.
std::int64_t possible_time(std::int64_t us);
// Returns the time in a column, limited as by possible_time().
std::int64_t time_at(const Values& row, std::size_t column);

// Returns whether the table has at most `most_rows` rows, and each row has `columns` columns.
bool has_shape(const Table& table, std::size_t most_rows, std::size_t columns);
// Returns the number in the first column of the only row. nullopt: the table is not of this form.
std::optional<std::int64_t> only_number(const Table& table);

// Returns the line of a name. The columns of `rows` are arrival, waiter, alive_until (µs) and who.
lease_table::Line line_of(const Table& rows);

// What a change of a lock has changed in the line of a name.
struct LineChange {
  std::vector<const lease_table::Place*> written;  // waiters' places that are new or changed
  std::vector<const lease_table::Place*> gone;
};
LineChange change_of(const lease_table::Line& before, const lease_table::Line& after);

}  // namespace dlock::sql
