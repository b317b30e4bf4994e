// SPDX-License-Identifier: MIT
// The rows of a table that has only the four columns of ShedLock. Such a row keeps one plain hold:
// locked_by has "user@host pid 812 dlock OWNER#SERIAL TOKEN", and the lease ends at lock_until. The
// row of a free lock has "free dlock - TOKEN", so tokens grow even if times are rounded. There are
// no lines, no nesting and no records of successes.
#pragma once

#include "store/sql/lock_row.hpp"

namespace dlock::sql {

LockColumns four_columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);
// Returns the lock of a row. `now_us`: the present, by the server's clock. A later locked_at does
// not raise the token: the clock of the program that wrote it was ahead, or the column rounds up.
lease_table::StoredLock lock_of_four(const LockColumns& columns, std::int64_t now_us);

// Returns whether four columns can keep the lock.
bool fits_four_columns(const lease_table::StoredLock& lock);

}  // namespace dlock::sql
