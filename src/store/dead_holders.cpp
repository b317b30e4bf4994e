// SPDX-License-Identifier: MIT
#include "store/dead_holders.hpp"

#include "base/host_name.hpp"
#include "base/log.hpp"
#include "base/user_name.hpp"
#include "core/dead_holder.hpp"
#include "store/abandoned_holds.hpp"
#include "sys/boot.hpp"
#include "sys/process_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace dlock {

namespace {

// Root may look at the environment of every process, except in some containers; another user only
// at that of its own processes.
Witness this_machine() {
  const bool root = ::geteuid() == 0;
  const Hidden hidden = root ? Hidden::carrier : Hidden::other;
  return {.host = host_name(),
          .machine = pid_space(),
          .user = root ? "" : user_name(),
          .is_gone = is_gone,
          .is_empty_group = is_empty_group,
          .is_carried_by_none = [hidden](const HoldRecord& hold) {
            return is_carried_by_none(hold, hidden);
          }};
}

// Returns the hold of the record, as its holder would release it.
Hold hold_of(const LockName& name, const HoldRecord& record) {
  const auto end_of_owner = record.id.rfind('#');
  return {.name = name,
          .owner = record.id.substr(0, end_of_owner),
          .serial = record.id.substr(end_of_owner + 1),
          .token = record.token,
          .since_ms = record.since_ms,
          .ttl = record.ttl,
          .who = record.who,
          .mode = record.mode,
          .slot = record.slot};
}

// Returns the holding with only this hold.
Holding alone(const Holding& holding, const HoldRecord& record) {
  Holding shown = holding;
  shown.holds = {record};
  std::erase_if(shown.owners, [&](const auto& owner) { return !is_hold_of(record.id, owner.id); });
  shown.owner_count = shown.owners.size();
  return shown;
}

}  // namespace

std::vector<Reclaimed> DeadHolders::release(
    LockStore& store, const LockName& name, std::size_t which, const Holding& holding, Time limit) {
  std::vector<Reclaimed> released;
  const auto& holds = holding.holds;
  if (denied_ || std::none_of(holds.begin(), holds.end(), names_its_processes)) return released;
  const Witness here = this_machine();
  for (const HoldRecord& record : holds) {
    if (!is_dead(record, here)) continue;
    const auto verdict = store.release({hold_of(name, record)}, {}, limit);
    if (!verdict) {
      log(LogLevel::debug, "cannot free the lock of a dead holder: " + verdict.error().text);
      denied_ = denied_ || verdict.error().code == Errc::denied;
      break;
    }
    if (*verdict != ReleaseVerdict::not_held)
      released.push_back({.which = which, .holding = alone(holding, record)});
  }
  return released;
}

// For a refused claim of one of several names: looks at the names but `shown`, and releases the
// dead holders of the first that has some.
std::vector<Reclaimed> DeadHolders::release_elsewhere(LockStore& store,
                                                      const Claim& claim,
                                                      std::size_t shown,
                                                      Time limit) {
  for (std::size_t i = 0; i < claim.names.size() && !denied_; ++i) {
    if (i == shown) continue;
    const auto holding = store.inspect(claim.names[i], limit);
    if (!holding) break;
    auto released = release(store, claim.names[i], i, *holding, limit);
    if (!released.empty()) return released;
  }
  return {};
}

event::Acquired DeadHolders::acquire(LockStore& store,
                                     const Claim& claim,
                                     Queueing queueing,
                                     Time limit) {
  event::Acquired event{store.acquire(claim, queueing, limit)};
  // Each name may have a dead holder.
  for (std::size_t tries = claim.names.size(); tries > 0; --tries) {
    const auto* const refusal = event.answer ? std::get_if<Refusal>(&*event.answer) : nullptr;
    if (refusal == nullptr) break;
    const std::size_t which = refusal->which;
    auto released = release(store, claim.names.at(which), which, refusal->holding, limit);
    if (released.empty() && claim.one_from)
      released = release_elsewhere(store, claim, which, limit);
    if (released.empty()) break;
    std::move(released.begin(), released.end(), std::back_inserter(event.reclaimed));
    event.answer = store.acquire(claim, queueing, limit);
  }
  return event;
}

event::Inspected DeadHolders::inspect(LockStore& store,
                                      const LockName& name,
                                      std::size_t which,
                                      Time limit) {
  event::Inspected event{store.inspect(name, limit)};
  if (!event.answer) return event;
  event.reclaimed = release(store, name, which, *event.answer, limit);
  if (!event.reclaimed.empty()) event.answer = store.inspect(name, limit);
  return event;
}

}  // namespace dlock
