// SPDX-License-Identifier: MIT
#include "store/abandoned_holds.hpp"

#include "sys/boot.hpp"
#include "sys/process_table.hpp"

#include <unistd.h>

#include <algorithm>

namespace dlock {

namespace {

// Returns whether the run that took the hold is dead, and its command, too. The record was read
// before the processes are listed here, so a run that lives is in the list: dlock is recognized by
// its pid, its command by the serial in its environment.
bool is_abandoned(const HoldRecord& record) {
  const std::string here = pid_space();
  if (here.empty() || record.who.machine != here) return false;
  // living_process() is false for a process that is dead but not reaped yet.
  if (record.who.pid <= 1 || living_process(static_cast<pid_t>(record.who.pid))) return false;
  return is_carried_by_none(record, Hidden::other);
}

// Releases the abandoned holds that the owner of `hold` has on the same name. Returns whether the
// owner then has no hold left on this name, except a kept hold.
bool release_abandoned(LockStore& store,
                       const Hold& hold,
                       const ReleaseOptions& options,
                       Time limit) {
  const auto holding = store.inspect(hold.name, limit);
  if (!holding) return false;
  for (const HoldRecord& record : holding->holds) {
    if (!is_hold_of(record.id, hold.owner)) continue;
    if (record.kept) return true;
    Hold rest = hold;
    rest.serial = record.id.substr(hold_id(hold.owner, "").size());
    if (!is_abandoned(record)) continue;
    auto after = store.release({rest}, {.keep = options.keep}, limit);
    if (!after) return false;
    if (*after == ReleaseVerdict::released) return true;
  }
  return std::none_of(holding->owners.begin(), holding->owners.end(), [&](const auto& owner) {
    return owner.id == hold.owner;
  });
}

}  // namespace

bool is_carried_by_none(const HoldRecord& record, Hidden hidden) {
  const std::string serial = record.id.substr(record.id.rfind('#') + 1);
  const auto all = living_processes();
  // If even pid 1 is not visible, /proc may hide other processes, too.
  if (!all || !living_process(1)) return false;
  // Some systems hide pid 1 even from root. It belongs to no run.
  const auto may_carry = [&](const ProcessEntry& entry) {
    return (hidden == Hidden::carrier && entry.pid != 1) || descends(entry, ::getpid());
  };
  return std::none_of(all->begin(), all->end(), [&](const ProcessEntry& entry) {
    const auto carries = environment_has(entry.pid, serial);
    return entry.pid == record.who.pid || (carries ? *carries : may_carry(entry));
  });
}

Result<ReleaseVerdict> release_with_abandoned(LockStore& store,
                                              const Holds& holds,
                                              const ReleaseOptions& options,
                                              Time limit) {
  // A kept lock stays in the mode of the hold that was released last. That should be this hold, a
  // writer's. So the abandoned holds, which may be readers', are released before it.
  for (const Hold& hold : holds) {
    if (hold.mode == Mode::exclusive && !hold.nested && options.keep > Duration{})
      release_abandoned(store, hold, {}, limit);
  }
  auto verdict = store.release(holds, options, limit);
  if (!verdict || *verdict != ReleaseVerdict::still_held) return verdict;
  bool all = true;
  for (const Hold& hold : holds)
    all = !hold.nested && release_abandoned(store, hold, options, limit) && all;
  return all ? ReleaseVerdict::released : ReleaseVerdict::still_held;
}

}  // namespace dlock
