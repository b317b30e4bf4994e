// SPDX-License-Identifier: MIT
#include "core/lock_store.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace dlock {

std::string who_text(const HolderInfo& who) {
  return printable(who.user) + "@" + printable(who.host) + " pid " + std::to_string(who.pid);
}

std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding) {
  return std::chrono::milliseconds(std::max<std::int64_t>(holding.now_ms - hold.since_ms, 0));
}

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
  return store.leave(claim, limit);
}

}  // namespace dlock
