// SPDX-License-Identifier: MIT
#include "core/dead_holder.hpp"

namespace dlock {

bool names_its_processes(const HoldRecord& hold) {
  const HolderInfo& who = hold.who;
  return !hold.kept && !who.machine.empty() && who.pid > 1 && who.guard > 1 && who.group > 1;
}

bool is_dead(const HoldRecord& hold, const Witness& witness) {
  const HolderInfo& who = hold.who;
  if (!names_its_processes(hold)) return false;
  if (who.machine != witness.machine) return false;
  if (who.host != witness.host) return false;
  if (!witness.user.empty() && who.user != witness.user) return false;
  if (!witness.is_gone(who.pid)) return false;
  if (!witness.is_gone(who.guard)) return false;
  if (!witness.is_gone(who.group)) return false;  // the command, which may have left its group
  if (!witness.is_empty_group(who.group)) return false;
  return witness.is_carried_by_none(hold);
}

}  // namespace dlock
