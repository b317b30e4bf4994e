// SPDX-License-Identifier: MIT
#include "store/abandoned_holds.hpp"

#include "sys/process_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace dlock {

namespace {

bool is_gone(long pid) {
  return pid > 1 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

// Is the run dead that took the hold, and all that it ran? Its record was read before we look, so
// whoever of them lives is there to be seen: dlock by its number, what it ran by its environment.
bool is_abandoned(const HoldRecord& record, const HoldSerial& serial) {
  const std::string here = pid_space();
  if (here.empty() || record.who.machine != here || !is_gone(record.who.pid)) return false;
  const auto all = living_processes();
  if (!all || !living_process(1)) return false;  // others may be hidden from us
  return std::none_of(all->begin(), all->end(), [&](const ProcessEntry& entry) {
    return environment_has(entry.pid, serial).value_or(descends(entry, ::getpid()));
  });
}

}  // namespace

Result<ReleaseVerdict> release_with_abandoned(LockStore& store, const Hold& hold, Time limit) {
  auto verdict = store.release(hold, limit);
  if (!verdict || *verdict != ReleaseVerdict::still_held || hold.nested) return verdict;
  const auto holding = store.inspect(hold.name, limit);
  if (!holding) return verdict;
  const std::string ours = hold_id(hold.owner, "");
  for (const HoldRecord& record : holding->holds) {
    if (record.id.compare(0, ours.size(), ours) != 0) continue;
    Hold rest = hold;
    rest.serial = record.id.substr(ours.size());
    if (!is_abandoned(record, rest.serial)) continue;
    auto after = store.release(rest, limit);
    if (!after) return verdict;
    if (*after == ReleaseVerdict::released) return after;
  }
  return verdict;
}

}  // namespace dlock
