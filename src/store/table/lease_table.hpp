// SPDX-License-Identifier: MIT
// The rules of locks, in one place: how leases are granted, joined, renewed, released, kept,
// revoked and seen, in every mode and for several names. Table stores (table_store.hpp) keep a
// StoredLock for each name and ask here; the scripts of the Redis store follow the same rules.
// Pure: it reads no clock and waits for nothing.
//
// Promises: repeating a call with the same hold serial counts nothing twice; renewing extends and
// never shortens; tokens only grow; another owner's lease is never changed; several names are all
// granted or none; a call that did not say granted, renewed, revoked or deleted, and released
// nothing, has left live leases as they were.
// Not promised: that two calls exclude each other. TableStore::transact does that.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock::lease_table {

// If it queues, a refused claim enters the lines of its names (waiting_line.hpp).
Result<AcquireReply> acquire(const States& states,
                             const Claim& claim,
                             const Moment& moment,
                             Queueing queueing = Queueing::no);
void leave(const States& states, const Claim& claim, const Moment& moment);
RenewReply renew(const States& states, const Holds& holds, const Moment& moment);
// False: a hold is not recorded; then nothing is changed.
bool raise(const States& states, const Holds& holds, const Moment& moment);
RenewReply check(const States& states, const Holds& holds, const Moment& moment);
ReleaseVerdict release(const States& states,
                       const Holds& holds,
                       const ReleaseOptions& options,
                       const Moment& moment);
RevokeReply revoke(StoredLock& state, const RevokeOrder& order, const Moment& moment);
Holding inspect(const StoredLock& state, const Moment& moment);
std::optional<LastSuccess> forget(StoredLock& state, const Moment& moment);

// What a store watches: nothing, a claim that waits for room, or holds that might be lost.
using Watched = std::variant<std::monostate, Claim, Holds>;
std::vector<LockName> names_of(const Watched& watched);

// The states are scratch copies: they may be modified.
Sight look(const Watched& watched, const States& states, const Moment& moment);

// The globs of list(): * ? [..] and backslash, as in fnmatch(3); "/" and "." are not special.
bool glob_matches(std::string_view glob, std::string_view name);

}  // namespace dlock::lease_table
