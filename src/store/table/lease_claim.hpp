// SPDX-License-Identifier: MIT
// What a claim gets of one name: looked at first, so that of several names all can be granted or
// none, and then carried out.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/stored_lock.hpp"

#include <cstdint>
#include <optional>

namespace dlock::lease_table {

struct Plan {
  enum class Kind {
    again,  // an earlier attempt of this very claim was granted
    join,   // a hold beside the ancestor's
    fresh,  // a lease of its own
    refused,
    other_slots,  // refused: the holders have another number of slots
    lost,         // refused: a hold that the claim relies on was lost
  };
  Kind kind = Kind::refused;
  OwnerId owner = {};      // whose lease it is, unless it is refused
  FencingToken token = 0;  // of again and join: what the hold is, or is to be
  Mode mode = Mode::plain;
  std::optional<std::uint32_t> slot = {};
  bool by_ancestor = false;  // refused: Refusal::by_ancestor
  bool turn = false;         // refused: there is room, for the first in line
};

// Of a state without dead leases and silent waiters: that of `name`, one of the claim's.
Plan plan_for(const StoredLock& state, const Claim& claim, const LockName& name);

// In the state as it was when the plan was made. Returns the hold as recorded there.
const HoldRecord& carry_out(const Plan& plan,
                            StoredLock& state,
                            const Claim& claim,
                            const Moment& moment);

}  // namespace dlock::lease_table
