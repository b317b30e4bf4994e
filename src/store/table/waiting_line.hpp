// SPDX-License-Identifier: MIT
// The waiting line of a name in a table store. The scripts of the Redis store follow the same rules
// (parts/line.lua, parts/refuse.lua). A free lock is offered to the first living waiter, which has
// a second to take it: its turn. A claim of several names waits in all their lines, with the same
// arrival in each.
//
// Pure. It promises that no living waiter is overtaken, except by a nested run. A waiter that is
// silent keeps others waiting no longer than k_line_life, and a waiter that does not take its turn
// no longer than k_turn (if it needs several names, in the stores of contender.hpp no longer than
// k_line_life). The death of a waiter is not noticed at once: the waiter counts as alive
// until its next try is due.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/lease_claim.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock::lease_table {

// How long a waiter counts as alive after a try, and how long a turn lasts. parts/line.lua has the
// same two times.
constexpr Duration k_line_life = std::chrono::seconds(10);
constexpr Duration k_turn = std::chrono::seconds(1);
// How often a waiter looks at a lock that another program than dlock holds, whose release wakes no
// waiter.
constexpr Duration k_foreign_look = std::chrono::seconds(1);

// Removes leases that have ended, waiters that are silent, and a freeze that has ended. A frozen
// name without a lease gets the lease that keeps it.
void tidy(StoredLock& state, const Moment& moment);

bool is_living(const Place& place, StoreTime now);
std::uint64_t living(const Line& line, StoreTime now);

// Begins the turn of the first waiter if the lock has room for it: from now on, the waiter counts
// as alive for k_turn only. Does nothing if the first waiter is `me`, the caller. Leases that have
// ended and silent waiters must have been removed from `state`.
void offer(StoredLock& state, StoreTime now, const std::string& me = {});

// Returns whether a turn has begun between two states of a line. If so, the first two waiters must
// look.
bool turn_began(const Line& before, const Line& after);

// Returns a run that supersedes the claim: it came later than the claim, and waits for or holds one
// of its names, and both said --supersede. A claim that was silent for too long has lost its place;
// so it is compared with all others by the time when it came first. Null: the claim goes on.
const HolderInfo* superseding(const States& states, const Claim& claim);

struct RefusedClaim {
  const Claim& claim;
  const std::vector<Plan>& plans;  // one plan for each name of the claim
  // Index of the name that is refused. For a claim of one of several names: not used.
  std::size_t which = 0;
  Queueing queueing = Queueing::no;
};
// Where a refused claim waits, or why it does not.
struct Queued {
  // Index of a name whose line is full, otherwise of the name that is refused. For a claim of one
  // of several names: of the name in whose line it has, or would have, the best place.
  std::size_t which = 0;
  // The claim's place in the line of the name with the index `which`, from 1; 0: not in line.
  std::uint64_t place = 0;
};
// Enters the claim in the lines of all names that it must wait for, unless one of the lines is
// full; if one of several names is enough, unless all lines are full.
Queued queue_up(const States& states, const RefusedClaim& refused, const Moment& moment);

// Returns a text made of all facts that matter to a waiting claim in these states. As long as the
// text stays the same, there is nothing new for the claim. The text changes when a turn of the
// claim begins: the claim must try, even if it still waits for another name, or it would be passed
// over.
std::string signature_of(const States& states, const Claim& claim, StoreTime now);

// Returns the id of the waiter or hold whose end the claim waits for: the waiter before it in the
// first line where it is not the first, or else a hold that is in its way. Empty: the claim waits
// for the end of any of several, for a lease without a holder, or for its turn.
std::string predecessor_of(const States& states, const Claim& claim);

// Returns what a claim sees in the lines of its names, and when to look again. The claim must be in
// at least one of the lines.
Sight look_from_line(const States& states, const Claim& claim, const Moment& moment);

}  // namespace dlock::lease_table
