// SPDX-License-Identifier: MIT
// What the stores in SQL databases write beside the state of a lock, how a row is read that another
// program may have written, and which rows of its line have changed. Every database has two tables:
//
//   dlock       name, lock_until, locked_at, locked_by, token, version, state
//   dlock_line  name, arrival, waiter, alive_until, who
//
// The first four columns are ShedLock's, which may share the table: it takes and extends a row by
// writing them, and ignores the rest. `state` is the JSON of record_json.hpp and counts as long as
// `locked_by` is what was written with it. Otherwise ShedLock has written since: the leases of the
// state are over, and the row is ShedLock's until `lock_until`. `version` grows with each write of
// dlock.
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

// Times are µs of the table's wall clock. lock_until has whole seconds, as some tables' columns
// have: rounded up for a lease, down for a free lock.
struct LockColumns {
  std::int64_t lock_until_us = 0;  // end of the last lease; of a free lock: the present
  std::int64_t locked_at_us = 0;   // grant of the newest of its holds; 0: unchanged
  std::string locked_by;           // holder of that hold, "user@host pid 812"; empty: free
};
// A hold's text in locked_by. All versions of dlock write the same ASCII, which every character set
// can keep: another text in the column shows another program.
std::string holder_column(const HoldRecord& hold);
// The holder of a row that another program has.
lease_table::ForeignHold foreign_hold(const LockColumns& columns);

LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);

// The lock of a row, without its line. nullopt: the state is damaged, or another name's.
std::optional<lease_table::StoredLock> lock_of(const std::string& name,
                                               const std::string& state,
                                               const LockColumns& columns);

// A row of dlock_line. `alive_until` as in the table; `who` is waiter_json().
lease_table::Place place_of(std::int64_t arrival_us,
                            std::string waiter,
                            lease_table::StoreTime alive_until,
                            std::string_view who);

// A server may answer with anything.
std::string text_at(const Values& row, std::size_t column);     // empty: null, or no such column
std::int64_t number_at(const Values& row, std::size_t column);  // 0: no number
// A number too large becomes the largest one. nullopt: it is no number.
std::optional<std::int64_t> number_in(const Value& value);
// µs since 1970, limited to what a Duration can hold.
std::int64_t time_at(const Values& row, std::size_t column);

// Whether the table has at most `most_rows` rows, each of `columns` columns.
bool has_shape(const Table& table, std::size_t most_rows, std::size_t columns);
// The number that answers a question for one number. nullopt: the answer is something else.
std::optional<std::int64_t> only_number(const Table& table);

// Reads the line from rows of arrival, waiter, alive_until (µs) and who.
lease_table::Line line_of(const Table& rows);

// The difference between a name's line and the line that was read.
struct LineChange {
  std::vector<const lease_table::Place*> written;  // new, or changed
  std::vector<const lease_table::Place*> gone;
};
LineChange change_of(const lease_table::Line& before, const lease_table::Line& after);

}  // namespace dlock::sql
