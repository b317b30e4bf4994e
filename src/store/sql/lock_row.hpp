// SPDX-License-Identifier: MIT
// How an SQL database keeps a lock: what the columns beside the state contain, how to read a row
// that another program may have written, and which rows of a line have changed. Every database has
// two tables:
//
//   dlock       name, lock_until, locked_at, locked_by, token, version, state
//   dlock_line  name, arrival, waiter, alive_until, who
//
// The first four columns are those of ShedLock, which may use the same table: ShedLock writes them
// to acquire or extend a lock, and ignores the other columns. `state` is the JSON of
// record_json.hpp. It counts only if `locked_by` is still the text that dlock wrote with it. If
// not, ShedLock has written the row since: the leases in the state are over, and ShedLock holds the
// lock until `lock_until`. Each write by dlock increments `version`.
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
// Returns µs of the table's clock.
std::int64_t us_of(lease_table::StoreTime time);

// Times are µs of the server's wall clock. dlock writes lock_until in whole seconds, because the
// columns of some tables keep no fractions: rounded up for a lease, down for a free lock.
struct LockColumns {
  std::int64_t lock_until_us = 0;  // end of the last lease; if the lock is free, the present
  std::int64_t locked_at_us = 0;   // when the newest hold was granted; 0: leave the column as it is
  std::string locked_by;           // holder of the newest hold, "user@host pid 812"; empty: free
};
// Returns the text for locked_by. All versions of dlock write the same ASCII text for a hold, which
// every character set can keep: if the column has a different text, another program wrote it.
std::string holder_column(const HoldRecord& hold);
// Returns the hold of the program, other than dlock, that wrote the row.
lease_table::ForeignHold foreign_hold(const LockColumns& columns);

LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);

// Returns the lock of a row, without its line. nullopt: the state is damaged or belongs to another
// name.
std::optional<lease_table::StoredLock> lock_of(const std::string& name,
                                               const std::string& state,
                                               const LockColumns& columns);

// Returns the place in line that a row of dlock_line describes. `who`: JSON as of waiter_json().
lease_table::Place place_of(std::int64_t arrival_us,
                            std::string waiter,
                            lease_table::StoreTime alive_until,
                            std::string_view who);

// These functions accept any row, because a server may answer with anything.
std::string text_at(const Values& row, std::size_t column);  // empty: NULL, or no column
// Returns the number at the beginning of the column: "5.00" is 5. 0: no number, or no column.
std::int64_t number_at(const Values& row, std::size_t column);
// Returns the number; one that does not fit becomes the nearest limit. nullopt: not a number.
std::optional<std::int64_t> number_in(const Value& value);
// Limits µs since 1970 to 0 … lease_table::k_latest_ms.
std::int64_t possible_time(std::int64_t us);
// Returns possible_time() of number_at().
std::int64_t time_at(const Values& row, std::size_t column);

// Returns whether the table has at most `most_rows` rows, each of `columns` columns.
bool has_shape(const Table& table, std::size_t most_rows, std::size_t columns);
// Returns the number in the first column of the only row. nullopt: the table has no such number.
std::optional<std::int64_t> only_number(const Table& table);

// Returns the line from rows of arrival, waiter, alive_until (µs) and who.
lease_table::Line line_of(const Table& rows);

// The difference between a name's line before and after a step.
struct LineChange {
  std::vector<const lease_table::Place*> written;  // new or changed places
  std::vector<const lease_table::Place*> gone;
};
LineChange change_of(const lease_table::Line& before, const lease_table::Line& after);

}  // namespace dlock::sql
