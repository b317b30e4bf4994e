// SPDX-License-Identifier: MIT
#include "core/lock_store.hpp"

#include <algorithm>

namespace dlock {

FencingToken token_of(const Holding& holding) {
  FencingToken token = 0;
  for (const HoldRecord& hold : holding.holds)
    token = std::max(token, hold.token);
  return token;
}

Result<void> undo(LockStore& store, const Claim& claim, Time limit) {
  Hold hold{.name = claim.name,
            .owner = claim.owner,
            .serial = claim.serial,
            .ttl = claim.ttl,
            .who = claim.who};
  auto reply = store.release(hold, limit);
  if (!reply) return reply.error();
  hold.nested = true;
  for (const AncestorHold& ancestor : claim.ancestors) {
    hold.owner = ancestor.owner;
    reply = store.release(hold, limit);
    if (!reply) return reply.error();
  }
  return {};
}

}  // namespace dlock
