// SPDX-License-Identifier: MIT
// What the stores in SQL databases write beside the state of a lock, and which rows of its line
// have changed. Two tables, whatever the database:
//
//   dlock       name, lock_until, locked_at, locked_by, token, version, state
//   dlock_line  name, arrival, waiter, alive_until, who
//
// `state` is the JSON of record_json.hpp and decides; the columns before it are for people and for
// programs that read them (the first four are those of ShedLock). `version` grows with each write.
#pragma once

#include "store/lease_table.hpp"
#include "store/stored_lock.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::sql {

// Times are µs of the wall clock of the table.
struct LockColumns {
  std::int64_t lock_until_us = 0;  // the end of the last lease; of a free lock the moment
  std::int64_t locked_at_us = 0;   // when the newest of its holds was granted
  std::string locked_by;           // the holder of that, "user@host pid 812"
};
// Of a free lock only lock_until is set.
LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);

// A row of dlock_line. `alive_until` as the table has it; `who` is waiter_json().
lease_table::Place place_of(std::int64_t arrival_us,
                            std::string waiter,
                            lease_table::StoreTime alive_until,
                            std::string_view who);

// How the line of a name differs from the one that was read.
struct LineChange {
  std::vector<const lease_table::Place*> written;  // new, or not as before
  std::vector<const lease_table::Place*> gone;
};
LineChange change_of(const lease_table::Line& before, const lease_table::Line& after);

}  // namespace dlock::sql
