// SPDX-License-Identifier: MIT
// Decides what a claim gets for one name. First a plan is made for each name of the claim. Only if
// no plan is a refusal, all plans are carried out. So several names are granted all or none.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>

namespace dlock::lease_table {

struct Plan {
  enum class Kind {
    again,  // this claim was granted before, and gets the same hold again
    join,   // a hold in an ancestor's lease
    fresh,  // the first hold of a new lease
    refused,
    unwanted,  // refused, and the claim does not wait for it: it has a revoked hold of another name
    lost,      // refused: a hold on which the claim relies was lost
  };
  Kind kind = Kind::refused;
  OwnerId owner = {};      // owner of the lease; empty if refused
  FencingToken token = 0;  // for `again` and `join`: the token of the lease
  Mode mode = Mode::plain;
  std::optional<std::uint32_t> slot = {};
  // For `refused`: an ancestor holds the name, in a mode that the claim cannot join.
  bool by_ancestor = false;
  bool turn = false;  // for `refused`: the lock has room, but it is the turn of another waiter
  // For `refused`: the claim has a hold of the name that was revoked, and gets no second one.
  bool given_up = false;
};

// Returns the plan for `name`, which is one of the claim's names. Leases that have ended and
// waiters that are silent must have been removed from `state`.
Plan plan_for(const StoredLock& state, const Claim& claim, const LockName& name);

// Carries out the plan that plan_for() has made for this state. Returns the hold in the state.
const HoldRecord& carry_out(const Plan& plan,
                            StoredLock& state,
                            const Claim& claim,
                            const Moment& moment);

}  // namespace dlock::lease_table
