// SPDX-License-Identifier: MIT
#include "cmd/ancestor_holder.hpp"

#include "base/host_name.hpp"
#include "sys/process_table.hpp"

#include <unistd.h>

#include <algorithm>

namespace dlock {

std::string ancestor_holder_text(const Holding& holding) {
  const auto self = living_process(::getpid());
  const auto is_above = [&](const HoldRecord& hold) {
    return !hold.kept && hold.who.pid > 0 && hold.who.host == host_name() &&
           descends(*self, static_cast<pid_t>(hold.who.pid));
  };
  const auto& holds = holding.holds;
  const auto above = self ? std::find_if(holds.begin(), holds.end(), is_above) : holds.end();
  if (above == holds.end()) return "";
  return "process " + std::to_string(above->who.pid) +
         ", which this one descends from, is the holder: if it waits for this run, neither will "
         "end; pass DLOCK_HOLDS on (env -i and sudo drop it), and this run is nested in that one";
}

}  // namespace dlock
