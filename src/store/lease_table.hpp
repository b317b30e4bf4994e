// SPDX-License-Identifier: MIT
// What a lock is, in one place: the rules by which a lease is granted, joined, renewed, released,
// revoked and seen. The memory and the local store keep a LeaseState a name and ask here; the
// scripts of the Redis store follow the same rules. Pure: no clock is read and nothing waits.
//
// Promises: repeating a call with the same hold serial counts nothing twice; renewing extends and
// never shortens; tokens only grow; nothing of another owner is changed; a call that did not say
// granted, renewed, released, still_held, revoked or deleted has left the state as it was.
// Not promised: that two calls exclude each other. The caller holds its own mutex around them.
#pragma once

#include "core/lock_store.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlock::lease_table {

// A name's lease and what outlives it.
struct LeaseState {
  OwnerId owner;                           // empty: free
  std::map<HoldSerial, HoldRecord> holds;  // the live ones, all under `owner`
  Time expires;                            // at this instant it is over
  FencingToken token = 0;                  // the last one given out; stays when the lease ends
  std::optional<std::string> revoked_by;   // set: renewals of `owner` are refused
};

struct Moment {
  Time sent_at;              // when the caller asked: before it waited for the state
  Time now;                  // when it got the state; never before sent_at
  std::int64_t wall_us = 0;  // wall clock: for people, and as a lower bound of tokens
};

// Reads both clocks; to be called while the state is locked.
Moment moment_since(Time sent_at);

bool is_live(const LeaseState& state, Time now);
void make_free(LeaseState& state);

AcquireReply acquire(LeaseState& state, const Claim& claim, const Moment& moment);
RenewReply renew(LeaseState& state, const Hold& hold, const Moment& moment);
RenewReply check(const LeaseState& state, const Hold& hold, const Moment& moment);
ReleaseVerdict release(LeaseState& state, const Hold& hold, const Moment& moment);
RevokeReply revoke(LeaseState& state, const RevokeOrder& order, const Moment& moment);
Holding inspect(const LeaseState& state, const Moment& moment);

// How list() matches names: * ? [..] and backslash, as fnmatch(3) does; "/" and "." are not
// special.
bool glob_matches(std::string_view glob, std::string_view name);

}  // namespace dlock::lease_table
