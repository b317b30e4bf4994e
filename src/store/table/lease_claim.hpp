// SPDX-License-Identifier: MIT
// What a claim gets for one name. It is planned first, so that several names are granted all or
// none, and then carried out.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>

namespace dlock::lease_table {

struct Plan {
  enum class Kind {
    again,  // an earlier attempt of this claim was granted: the same hold
    join,   // a hold beside the ancestor's hold
    fresh,  // a new lease
    refused,
    other_slots,  // refused: the name is held with another number of slots
    lost,         // refused: a hold that the claim relies on was lost
  };
  Kind kind = Kind::refused;
  OwnerId owner = {};      // the lease's owner; empty if refused
  FencingToken token = 0;  // for again and join: the hold's token
  Mode mode = Mode::plain;
  std::optional<std::uint32_t> slot = {};
  bool by_ancestor = false;  // for refused: Refusal::by_ancestor
  bool turn = false;         // for refused: there is room, but it is for the first waiter in line
};

// Returns the plan for `name`, one of the claim's names. `state`: without dead leases and silent
// waiters.
Plan plan_for(const StoredLock& state, const Claim& claim, const LockName& name);

// Carries out a plan on the state for which it was made. Returns the hold as recorded in the state.
const HoldRecord& carry_out(const Plan& plan,
                            StoredLock& state,
                            const Claim& claim,
                            const Moment& moment);

}  // namespace dlock::lease_table
