// SPDX-License-Identifier: MIT
#include "core/lock_store.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace dlock {

std::string_view mode_word(Mode mode) {
  switch (mode) {
    case Mode::plain:
      return "plain";
    case Mode::exclusive:
      return "exclusive";
    case Mode::shared:
      return "shared";
    case Mode::slots:
      return "slots";
  }
  return "?";
}

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

std::vector<LockName> names_of(const Holds& holds) {
  std::vector<LockName> names;
  names.reserve(holds.size());
  for (const Hold& hold : holds)
    names.push_back(hold.name);
  return names;
}

Error lost_above(const LockName& name) {
  return {Errc::lost,
          "the hold of " + in_quotes(name.text()) +
              " that dlock acquire took is gone and was not released: acquire the lock again, or "
              "unset DLOCK_HOLDS"};
}

Result<void> undo(LockStore& store, const Claim& claim, Time limit) {
  std::vector<OwnerId> owners{claim.owner};
  for (const AncestorHold& ancestor : claim.ancestors) {
    if (std::find(owners.begin(), owners.end(), ancestor.owner) == owners.end()) {
      owners.push_back(ancestor.owner);
    }
  }
  for (const OwnerId& owner : owners) {
    Holds holds;
    for (const LockName& name : claim.names) {
      holds.push_back({.name = name,
                       .owner = owner,
                       .serial = claim.serial,
                       .ttl = claim.ttl,
                       .who = claim.who,
                       .nested = owner != claim.owner,
                       .mode = claim.mode});
    }
    auto reply = store.release(holds, {}, limit);
    if (!reply) return reply.error();
  }
  return store.leave(claim, limit);
}

}  // namespace dlock
