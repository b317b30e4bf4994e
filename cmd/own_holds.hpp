// SPDX-License-Identifier: MIT
// The holds that renew and release act on: from DLOCK_HOLDS, as acquire printed it, or from
// --owner. find_hold() inspects the lock before anything is changed.
#pragma once

#include "base/log.hpp"
#include "cmd/command_line.hpp"
#include "core/lock_store.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct WantedHold {
  LockName name;
  OwnerId owner;
  HoldSerial serial;
};

std::vector<LockName> names_of(const std::vector<WantedHold>& holds);

// Returns the wanted hold of each name on the command line. Errc::bad_usage: it is unclear which
// hold is meant.
Result<std::vector<WantedHold>> wanted_holds(const CommandLine& line, const LockStore& store);

struct FoundHold {
  Holding holding;
  // The hold, as renew and release need it; nullopt: it does not exist any more.
  std::optional<Hold> hold;
  bool released = false;  // if `hold` is nullopt: it was released and not lost
};
Result<FoundHold> find_hold(LockStore& store, const WantedHold& wanted, Time limit);

// Logs an event about the hold of a name; `text` already contains the name.
void log_of(LogLevel level, const LockName& name, std::string_view event, std::string_view text);

}  // namespace dlock
