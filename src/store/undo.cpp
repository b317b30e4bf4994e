// SPDX-License-Identifier: MIT
#include "store/undo.hpp"

namespace dlock {

Result<void> undo(LockStore& store, const Claim& claim, Queueing queueing, Time limit) {
  for (const Holds& holds : possible_holds(claim)) {
    auto reply = store.release(holds, {}, limit);
    if (!reply) return reply.error();
  }
  return store.leave(claim, queueing, limit);
}

}  // namespace dlock
