// SPDX-License-Identifier: MIT
// The waiting line of a name in a table store. The scripts of the Redis store follow the same rules
// (parts/line.lua, parts/refuse.lua). A free lock is offered to the first living waiter, which has
// a second to take its turn. A claim of several names waits in the line of each, with one arrival.
//
// Pure. It promises: no living waiter is overtaken, except by a nested run; and a waiter that is
// silent or does not take its turn is waited for no longer than k_line_life or k_turn. The death of
// a waiter is not noticed: it counts as alive until its next try would be due.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/lease_claim.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock::lease_table {

// How long a waiter counts as alive after a try, and how long a turn lasts; parts/line.lua has the
// same times.
constexpr Duration k_line_life = std::chrono::seconds(10);
constexpr Duration k_turn = std::chrono::seconds(1);
// Waiters look this often at a lock with a foreign holder, whose release wakes no waiter.
constexpr Duration k_foreign_look = std::chrono::seconds(1);

// Removes dead leases and silent waiters.
void tidy(StoredLock& state, StoreTime now);

bool is_living(const Place& place, StoreTime now);
std::uint64_t living(const Line& line, StoreTime now);

// Begins the turn of the first waiter if the lock has room for it: from now on it counts as alive
// for k_turn only. Does nothing if the first waiter is `me`, the caller. Needs a state without dead
// leases and silent waiters.
void offer(StoredLock& state, StoreTime now, const std::string& me = {});

// Returns whether a turn began between two states of a line; then the first two waiters have to
// look.
bool turn_began(const Line& before, const Line& after);

struct RefusedClaim {
  const Claim& claim;
  const std::vector<Plan>& plans;  // one for each of the claim's names
  std::size_t which = 0;           // index of the name in the way
  Queueing queueing = Queueing::no;
};
// Where a refused claim waits.
struct Queued {
  std::size_t which = 0;  // index of a name whose line is full, otherwise of the name in the way
  // The claim's place in the line of the name `which`, from 1; 0: not in line.
  std::uint64_t place = 0;
};
// Puts the claim into the lines of all its names that it waits for, unless one of these is full.
Queued queue_up(const States& states, const RefusedClaim& refused, const Moment& moment);

// Returns all that matters to a claim in these states: while this stays equal, there is no news.
std::string signature_of(const States& states, const Claim& claim);

// Returns what the claim finds in the lines of its names, and when to look again. The claim must be
// in at least one of these lines.
Sight look_from_line(const States& states, const Claim& claim, const Moment& moment);

}  // namespace dlock::lease_table
