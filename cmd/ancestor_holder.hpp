// SPDX-License-Identifier: MIT
// Detects that the holder is an ancestor process of this one, although DLOCK_HOLDS does not say so:
// something in between has emptied the environment (env -i, sudo, ssh to this host).
#pragma once

#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// Returns "process 812, which this one descends from, is the holder: …" with advice; empty if no
// ancestor holds the lock. Only for display: it compares host names and pids.
std::string ancestor_holder_text(const Holding& holding);

}  // namespace dlock
