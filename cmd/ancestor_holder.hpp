// SPDX-License-Identifier: MIT
// Detects that the holder is an ancestor process of this one, although DLOCK_HOLDS does not say so.
// A program in between (env -i, sudo, ssh to this host) has then emptied the environment.
#pragma once

#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// Returns "process 812, which this one descends from, is the holder: …" with advice; empty if no
// ancestor holds the lock. Only for messages: it compares host names and pids, and another machine
// may have the same host name, another process the same pid.
std::string ancestor_holder_text(const Holding& holding);

}  // namespace dlock
