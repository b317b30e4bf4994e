// SPDX-License-Identifier: MIT
// What the stores in SQL databases write beside the state of a lock, how a row is read that another
// program may have written, and which rows of its line have changed. Two tables, whatever the
// database:
//
//   dlock       name, lock_until, locked_at, locked_by, token, version, state
//   dlock_line  name, arrival, waiter, alive_until, who
//
// The first four columns are those of ShedLock, which may share the table: it takes and extends a
// row by writing them, and knows nothing of the rest. `state` is the JSON of record_json.hpp and
// decides as long as `locked_by` is what was written with it. Else ShedLock has written since: the
// leases of the state are over, and the row is its own until `lock_until`. `version` grows with
// each write of dlock.
#pragma once

#include "store/table/lease_table.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::sql {

inline constexpr std::int64_t k_us_per_ms = 1000;

// Times are µs of the wall clock of the table. lock_until has whole seconds, as columns of some
// tables have: of a lease the next ones, of a free lock the last ones.
struct LockColumns {
  std::int64_t lock_until_us = 0;  // the end of the last lease; of a free lock the moment
  std::int64_t locked_at_us = 0;   // when the newest of its holds was granted; 0: as it was
  std::string locked_by;           // the holder of that, "user@host pid 812"; empty: free
};
// What the column has of a hold. All versions of dlock write the same, ASCII that every character
// set can keep: another text in the column stands for another program.
std::string holder_column(const HoldRecord& hold);
// A row that another program has.
lease_table::ForeignHold foreign_hold(const LockColumns& columns);

LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);

// The lock of a row, without its line. nullopt: the state is damaged, or that of another name.
std::optional<lease_table::StoredLock> lock_of(const std::string& name,
                                               const std::string& state,
                                               const LockColumns& columns);

// A row of dlock_line. `alive_until` as the table has it; `who` is waiter_json().
lease_table::Place place_of(std::int64_t arrival_us,
                            std::string waiter,
                            lease_table::StoreTime alive_until,
                            std::string_view who);

// A row of an answer, and what a statement answered. A server may send anything.
using Values = std::vector<std::optional<std::string>>;
using Table = std::vector<Values>;
std::string text_at(const Values& row, std::size_t column);     // empty: null, or no such column
std::int64_t number_at(const Values& row, std::size_t column);  // 0: none
// µs since 1970 that a Duration can say: of "infinity" the latest of them.
std::int64_t time_at(const Values& row, std::size_t column);

// Are these at most so many rows, each of so many columns?
bool has_shape(const Table& table, std::size_t most_rows, std::size_t columns);
// The answer to a question for one number. Nothing: it is none.
std::optional<std::int64_t> only_number(const Table& table);
// The clock of a server, µs since 1970, likewise: up to the year 2150.
std::optional<std::int64_t> clock_in(const Table& table);

// The line in rows of arrival, waiter, alive_until (µs) and who.
lease_table::Line line_of(const Table& rows);

// How the line of a name differs from the one that was read.
struct LineChange {
  std::vector<const lease_table::Place*> written;  // new, or not as before
  std::vector<const lease_table::Place*> gone;
};
LineChange change_of(const lease_table::Line& before, const lease_table::Line& after);

}  // namespace dlock::sql
