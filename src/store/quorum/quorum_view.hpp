// SPDX-License-Identifier: MIT
// Combines the answers of a quorum's servers, for display. Pure.
#pragma once

#include "core/lock_store.hpp"

#include <string>
#include <vector>

namespace dlock {

// Returns what a majority of the servers says about a name, with each server's answer in `votes`.
// An owner is left out if it could not have a majority even if all silent servers knew it.
Holding seen_by_majority(std::vector<Vote> votes);

// Returns the combined result of a revocation. Errc::unavailable: no majority agrees.
Result<RevokeReply> revoked_by_majority(const std::vector<Result<RevokeReply>>& all,
                                        std::vector<Vote> before);

}  // namespace dlock
