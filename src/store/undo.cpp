// SPDX-License-Identifier: MIT
#include "store/undo.hpp"

#include <algorithm>
#include <vector>

namespace dlock {

Result<void> undo(LockStore& store, const Claim& claim, Queueing queueing, Time limit) {
  std::vector<OwnerId> owners{claim.owner};
  for (const AncestorHold& ancestor : claim.ancestors) {
    if (std::find(owners.begin(), owners.end(), ancestor.owner) == owners.end()) {
      owners.push_back(ancestor.owner);
    }
  }
  for (const OwnerId& owner : owners) {
    Holds holds;
    for (std::size_t i = 0; i < claim.names.size(); ++i)
      holds.push_back(hold_of(claim, i, owner, {.mode = claim.mode}));
    auto reply = store.release(holds, {}, limit);
    if (!reply) return reply.error();
  }
  return store.leave(claim, queueing, limit);
}

}  // namespace dlock
