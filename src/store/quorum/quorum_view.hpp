// SPDX-License-Identifier: MIT
// Combines the answers of a quorum's servers, for display. Pure.
#pragma once

#include "core/lock_store.hpp"

#include <string>
#include <vector>

namespace dlock {

// What a majority of the servers says about a name; `votes` of the result has each server's word.
// An owner holds nothing if fewer than a majority would know it even if all silent servers did.
Holding seen_by_majority(std::vector<Vote> votes);

// The result of an order to revoke. Errc::unavailable if no majority agrees.
Result<RevokeReply> revoked_by_majority(const std::vector<Result<RevokeReply>>& all,
                                        std::vector<Vote> before);

}  // namespace dlock
