// SPDX-License-Identifier: MIT
// What the answers of a quorum's servers say together, for people. Pure.
#pragma once

#include "core/lock_store.hpp"

#include <string>
#include <vector>

namespace dlock {

// What a majority of the servers says of a name; votes has the word of each. An owner holds nothing
// if fewer than a majority know it, even with all servers that did not answer.
Holding seen_by_majority(std::vector<Vote> votes);

// What an order to revoke did. Errc::unavailable if no majority agrees.
Result<RevokeReply> revoked_by_majority(const std::vector<Result<RevokeReply>>& all,
                                        std::vector<Vote> before);

}  // namespace dlock
