// SPDX-License-Identifier: MIT
// What a claim gets of one name: planned first, so that several names are granted all or none, and
// then carried out.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>

namespace dlock::lease_table {

struct Plan {
  enum class Kind {
    again,  // an earlier attempt of this claim was granted
    join,   // a hold beside the ancestor's
    fresh,  // a lease of its own
    refused,
    other_slots,  // refused: the holders have another number of slots
    lost,         // refused: a hold that the claim relies on was lost
  };
  Kind kind = Kind::refused;
  OwnerId owner = {};      // the lease's owner, unless refused
  FencingToken token = 0;  // for again and join: the hold's token
  Mode mode = Mode::plain;
  std::optional<std::uint32_t> slot = {};
  bool by_ancestor = false;  // refused: Refusal::by_ancestor
  bool turn = false;         // refused: there is room, for the first in line
};

// For the state of `name`, one of the claim's names, without dead leases and silent waiters.
Plan plan_for(const StoredLock& state, const Claim& claim, const LockName& name);

// Needs the state for which the plan was made. Returns the hold as recorded there.
const HoldRecord& carry_out(const Plan& plan,
                            StoredLock& state,
                            const Claim& claim,
                            const Moment& moment);

}  // namespace dlock::lease_table
