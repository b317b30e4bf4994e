// SPDX-License-Identifier: MIT
// Reads and writes the rows of a table that has only the four columns of ShedLock. Such a row can
// keep one plain hold: locked_by is "user@host pid 812 dlock OWNER#SERIAL TOKEN", and the lease
// ends at lock_until. If the lock is free, locked_by is "free dlock - TOKEN". The token is kept
// there because some tables round locked_at to whole seconds: a token made from that time might not
// be larger than the last one. There are no lines, no nested runs and no records of successes.
#pragma once

#include "store/sql/lock_row.hpp"

namespace dlock::sql {

LockColumns four_columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);
// Returns the lock in a row. `now_us` is the server's present time. Without a token in locked_by,
// the lock's token is locked_at, or now_us if locked_at is later: the clock of the program that
// wrote it was ahead, or the column rounds up.
lease_table::StoredLock lock_of_four(const LockColumns& columns, std::int64_t now_us);

// Returns whether the four columns can keep all that the lock has.
bool fits_four_columns(const lease_table::StoredLock& lock);

}  // namespace dlock::sql
