// SPDX-License-Identifier: MIT
// The waiting line of a name in a table store, by the rules that the scripts of the Redis store
// follow (parts/line.lua, parts/refuse.lua): a free lock is for the first living waiter, which has
// a second to take its turn; a claim of several names waits in the line of each, with one arrival.
//
// Pure. Promises: no living waiter is overtaken, except by a nested run; a waiter that is silent,
// or lets its turn pass, keeps others out no longer than that. A waiter's death is not noticed: it
// counts as alive until its next try is due.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/lease_claim.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock::lease_table {

// How long a waiter counts as alive after a try, and how long a turn lasts: as in parts/line.lua.
constexpr Duration k_line_life = std::chrono::seconds(10);
constexpr Duration k_turn = std::chrono::seconds(1);
// A foreign holder releases silently: waiters look this often.
constexpr Duration k_foreign_look = std::chrono::seconds(1);

// Removes dead leases and silent waiters.
void tidy(StoredLock& state, StoreTime now);

bool is_living(const Place& place, StoreTime now);
std::uint64_t living(const Line& line, StoreTime now);

// If the lock has room for the first in line, its turn begins: it counts as alive for k_turn only.
// Not if the first is `me`, the caller. Needs a tidy state.
void offer(StoredLock& state, StoreTime now, const std::string& me = {});

// Whether a turn began between two states of a line: the first two in it have to look.
bool turn_began(const Line& before, const Line& after);

struct RefusedClaim {
  const Claim& claim;
  const std::vector<Plan>& plans;  // one for each of its names
  std::size_t which = 0;           // the name in the way
  Queueing queueing = Queueing::no;
};
// Enters the lines of all names that the claim could get, unless one of them is full.
struct Queued {
  std::size_t which = 0;    // in its line, from 1; 0: in no line
  std::uint64_t place = 0;  // there, from 1; 0: in no line
};
Queued queue_up(const States& states, const RefusedClaim& refused, const Moment& moment);

// All that matters to a claim in these states: while it stays the same, there is no news.
std::string signature_of(const States& states, const Claim& claim);

// What a claim finds that stands in at least one of these lines; else only when to look again.
Sight look_from_line(const States& states, const Claim& claim, const Moment& moment);

}  // namespace dlock::lease_table
