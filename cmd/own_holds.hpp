// SPDX-License-Identifier: MIT
// The holds that renew and release act on: from DLOCK_HOLDS, as acquire printed it, or from
// --owner. find_hold() looks at the lock before anything is changed.
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

// One for each name on the command line. Errc::bad_usage if it is unclear which hold is meant.
Result<std::vector<WantedHold>> wanted_holds(const CommandLine& line, const LockStore& store);

struct FoundHold {
  Holding holding;
  std::optional<Hold> hold;  // as renew and release need it; nothing: the hold is gone
  bool released = false;     // the hold is gone because it was properly released
};
Result<FoundHold> find_hold(LockStore& store, const WantedHold& wanted, Time limit);

// Logs an event about the hold of a name, with the name in the text.
void log_of(LogLevel level, const LockName& name, std::string_view event, std::string_view text);

}  // namespace dlock
