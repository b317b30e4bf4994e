// SPDX-License-Identifier: MIT
// The rules of locks, in one place: how leases are granted, joined, renewed, released, kept,
// revoked and shown, in every mode and for several names. Table stores (table_store.hpp) keep a
// StoredLock for each name and call these functions; the scripts of the Redis store follow the same
// rules. Pure: no function reads a clock or waits.
//
// They promise: repeating a call with one hold serial counts nothing twice; a renewal never
// shortens a lease; tokens only grow; another owner's lease is never changed; several names are
// granted all or none; and unless a call grants, renews, revokes, deletes or releases something,
// living leases stay as they were.
// They do not keep two calls apart: TableStore::transact does that.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock::lease_table {

// Grants the claim, or returns why not. A refused claim that queues enters the lines of its names
// (waiting_line.hpp).
Result<AcquireReply> acquire(const States& states,
                             const Claim& claim,
                             const Moment& moment,
                             Queueing queueing = Queueing::no);
void leave(const States& states, const Claim& claim, const Moment& moment);
RenewReply renew(const States& states, const Holds& holds, const Moment& moment);
// Records the holds with their tokens, as LockStore::raise(). Returns false, and changes nothing,
// if a hold is not recorded.
bool raise(const States& states, const Holds& holds, const Moment& moment);
RenewReply check(const States& states, const Holds& holds, const Moment& moment);
ReleaseVerdict release(const States& states,
                       const Holds& holds,
                       const ReleaseOptions& options,
                       const Moment& moment);
RevokeReply revoke(StoredLock& state, const RevokeOrder& order, const Moment& moment);
Holding inspect(const StoredLock& state, const Moment& moment);
std::optional<LastSuccess> forget(StoredLock& state, const Moment& moment);

// What is watched: nothing, a claim that waits for room, or holds that may be lost.
using Watched = std::variant<std::monostate, Claim, Holds>;
std::vector<LockName> names_of(const Watched& watched);

// Returns what a watcher finds. The states are copies, which look() may change.
Sight look(const Watched& watched, const States& states, const Moment& moment);

// Returns whether the name matches a glob of list(): * ? [..] and backslash, as in fnmatch(3); "/"
// and "." are not special.
bool glob_matches(std::string_view glob, std::string_view name);

}  // namespace dlock::lease_table
