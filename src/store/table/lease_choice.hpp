// SPDX-License-Identifier: MIT
// What a claim of one of several names gets (Claim::one_from): the hold that it has already, a hold
// to join, or the first name that it can have. It never gets a second name.
#pragma once

#include "core/lock_store.hpp"
#include "store/table/lease_claim.hpp"
#include "store/table/stored_lock.hpp"

#include <vector>

namespace dlock::lease_table {

// Grants the claim one of its names, and takes it out of the lines of all; or enters it in these
// lines, and returns what is in the way. `plans`: one plan for each name.
AcquireReply acquire_one(const States& states,
                         const Claim& claim,
                         std::vector<Plan> plans,
                         const Moment& moment,
                         Queueing queueing);

}  // namespace dlock::lease_table
