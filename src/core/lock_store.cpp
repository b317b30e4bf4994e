// SPDX-License-Identifier: MIT
#include "core/lock_store.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

std::vector<LockName> names_of(const Holds& holds) {
  std::vector<LockName> names;
  names.reserve(holds.size());
  for (const Hold& hold : holds)
    names.push_back(hold.name);
  return names;
}

std::string waiter_id(const Claim& claim) {
  return claim.stands_as.empty() ? hold_id(claim.owner, claim.serial) : claim.stands_as;
}

std::vector<std::size_t> order_of(const Claim& claim) {
  std::vector<std::size_t> order(claim.names.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = (claim.one_from.value_or(0) + i) % order.size();
  return order;
}

std::vector<Holds> possible_holds(const Claim& claim) {
  std::vector<OwnerId> owners{claim.owner};
  for (const AncestorHold& ancestor : claim.ancestors) {
    if (std::find(owners.begin(), owners.end(), ancestor.owner) == owners.end())
      owners.push_back(ancestor.owner);
  }
  std::vector<Holds> all;
  for (const OwnerId& owner : owners) {
    all.emplace_back();
    for (std::size_t i = 0; i < claim.names.size(); ++i)
      all.back().push_back(hold_of(claim, i, owner, {.mode = claim.mode}));
  }
  return all;
}

Result<void> LockStore::raise(const Holds& /*holds*/, Time /*limit*/) {
  return Error{Errc::bad_usage, where() + " can be no member of a quorum"};
}

Error lost_above(const LockName& name) {
  return {Errc::lost,
          "the hold of " + in_quotes(name.text()) +
              " that dlock acquire took is gone and was not released: acquire the lock again, or "
              "unset DLOCK_HOLDS"};
}

Hold hold_of(const Claim& claim, std::size_t which, OwnerId owner, const HoldRecord& record) {
  const bool nested = owner != claim.owner;
  return {.name = claim.names[which],
          .owner = std::move(owner),
          .serial = claim.serial,
          .token = record.token,
          .since_ms = record.since_ms,
          .ttl = claim.ttl,
          .who = claim.who,
          .nested = nested,
          .renewed = claim.renewed,
          .mode = record.mode,
          .slot = record.slot};
}

}  // namespace dlock
