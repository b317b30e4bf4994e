// SPDX-License-Identifier: MIT
// Whether a holder is dead, as a claim on its machine can prove: then the claim need not wait for
// the end of the lease. Pure: sys asks the kernel.
//
// The claim sees, in this order, that there is no process of dlock, none of its guard and none of
// the command, and that the command's process group has no member. A dead process starts no other,
// and only a member adds members to a group, so the first answer still holds when the last comes. A
// guard that has replaced the recorded one is a member of the group.
//
// A number that another process has by now, a zombie, and a process that we may not signal count as
// living. So no start times are compared: a time namespace shows them shifted, and a holder that
// lives would seem dead. In doubt the lease decides.
#pragma once

#include "core/holding.hpp"

#include <functional>
#include <string>

namespace dlock {

// What a claim knows about its own machine.
struct Witness {
  // As in HolderInfo. Two machines have the same boot id if one is a copy of the other's memory, so
  // the host's name is compared, too.
  std::string host;
  std::string machine;  // as in HolderInfo; empty: unknown
  // Whose processes the claim may look at, as in HolderInfo; empty: those of every user.
  std::string user;
  std::function<bool(long pid)> is_gone;           // there is no such process, not even a zombie
  std::function<bool(long group)> is_empty_group;  // it has no member, not even a zombie
  // No living process, of those that the claim may look at, has the hold in its environment; false
  // in doubt.
  std::function<bool(const HoldRecord& hold)> is_carried_by_none;
};

// Returns whether the hold says where its processes are. Only a run that was renewed says it, and
// neither a nested run nor `acquire` does.
bool names_its_processes(const HoldRecord& hold);

bool is_dead(const HoldRecord& hold, const Witness& witness);

}  // namespace dlock
