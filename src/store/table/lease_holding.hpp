// SPDX-License-Identifier: MIT
// What the row of a name shows (core/holding.hpp). Pure; no function changes the row.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <optional>

namespace dlock::lease_table {

// Returns the state of the lock with the first of its waiters.
Holding inspect(const StoredLock& state, const Moment& moment);

// Returns the state of the lock for a claim that is refused, without the list of waiters.
Holding in_the_way(const StoredLock& state, const Claim& claim, const Moment& moment);

// Returns the success that --once-per remembers; nullopt: none is remembered.
std::optional<LastSuccess> last_success(const StoredLock& state, const Moment& moment);

// Returns the freeze; nullopt: the name is not frozen.
std::optional<Freeze> freeze_of(const StoredLock& state, const Moment& moment);

}  // namespace dlock::lease_table
