// SPDX-License-Identifier: MIT
// The rules of locks for all stores that keep rows: how leases are granted, joined, renewed,
// released, kept, frozen and revoked, in every mode and for several names. A table store
// (table_store.hpp) keeps a StoredLock for each name and calls these functions. The scripts of the
// Redis store follow the same rules. Pure: no function reads a clock or waits.
//
// These functions promise: if a call is repeated with its serial, nothing counts twice. A renewal
// never shortens a lease. Tokens only grow. Except by revoke(), a living lease is changed only for
// its owner or for a run nested in the owner's. Several names are granted all or none. A call that
// grants, renews, revokes, deletes or releases nothing leaves living leases as they are.
// Two calls at the same time must be kept apart by the store (TableStore::transact()).
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock::lease_table {

// Grants the claim, or returns why not. Unless `queueing` is Queueing::no, a refused claim is
// entered in the lines of the names that it must wait for (waiting_line.hpp).
Result<AcquireReply> acquire(const States& states,
                             const Claim& claim,
                             const Moment& moment,
                             Queueing queueing = Queueing::no);
void leave(const States& states, const Claim& claim, const Moment& moment);
RenewReply renew(const States& states, const Holds& holds, const Moment& moment);
// Records the holds with the tokens in `holds`, as LockStore::raise() describes. Returns false, and
// changes nothing, if a hold is not recorded in the states.
bool raise(const States& states, const Holds& holds, const Moment& moment);
RenewReply check(const States& states, const Holds& holds, const Moment& moment);
ReleaseVerdict release(const States& states,
                       const Holds& holds,
                       const ReleaseOptions& options,
                       const Moment& moment);
RevokeReply revoke(StoredLock& state, const RevokeOrder& order, const Moment& moment);
// Revokes the leases whose holds all say --supersede holder, if the waiter `by` says so, too; but
// not while the name is frozen, when the waiter could not begin. Returns the ids of their holds.
std::vector<std::string> supersede_holders(StoredLock& state, const HolderInfo& by);
Holding freeze(StoredLock& state, const FreezeOrder& order, const Moment& moment);
std::optional<Freeze> unfreeze(StoredLock& state, const Moment& moment);
std::optional<LastSuccess> forget(StoredLock& state, const Moment& moment);

// What a process watches: nothing, a claim that waits for room, or holds that may be lost.
using Watched = std::variant<std::monostate, Claim, Holds>;
std::vector<LockName> names_of(const Watched& watched);

// Returns what a watcher sees in the rows. The states are copies, which look() may change.
Sight look(const Watched& watched, const States& states, const Moment& moment);

// Returns whether the name matches the glob, as LockStore::list() needs it. The characters * ? [..]
// and backslash have the meaning of fnmatch(3); "/" and "." have no special meaning.
bool glob_matches(std::string_view glob, std::string_view name);

}  // namespace dlock::lease_table
