// SPDX-License-Identifier: MIT
// A table with only the four columns of ShedLock: a row keeps one plain hold. The hold itself is in
// locked_by, "user@host pid 812 dlock OWNER#SERIAL TOKEN", and its lease ends at lock_until. A free
// lock has "free dlock - TOKEN", so tokens grow whatever the precision of the times. There is no
// line, no nesting and no memory.
#pragma once

#include "store/sql/lock_row.hpp"

namespace dlock::sql {

LockColumns four_columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment);
// `now_us`: by the table's clock. A time ahead of it makes no token: a foreign program's clock was
// ahead, or the column rounded the time up.
lease_table::StoredLock lock_of_four(const LockColumns& columns, std::int64_t now_us);

// Whether four columns can keep the lock.
bool fits_four_columns(const lease_table::StoredLock& lock);

}  // namespace dlock::sql
