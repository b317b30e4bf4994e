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

// One for each name of the line. Errc::bad_usage where it is not known which is meant.
Result<std::vector<WantedHold>> wanted_holds(const CommandLine& line, const LockStore& store);

struct FoundHold {
  Holding holding;
  std::optional<Hold> hold;  // as renewing and releasing need it; nothing: it is not there
  bool released = false;     // it is not there because it was released in good order
};
Result<FoundHold> find_hold(LockStore& store, const WantedHold& wanted, Time limit);

// What happened to the hold of a name, as an event with the name in it.
void log_of(LogLevel level, const LockName& name, std::string_view event, std::string_view text);

}  // namespace dlock
