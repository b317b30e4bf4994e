// SPDX-License-Identifier: MIT
// Finds a waiter whose holder is a process above it, although DLOCK_HOLDS does not say so:
// something between the two has emptied the environment (env -i, sudo, ssh to this host).
#pragma once

#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// "process 812, which this one descends from, is the holder: …" with advice; empty if no ancestor
// holds the lock. For display only: it compares host names and pids.
std::string ancestor_holder_text(const Holding& holding);

}  // namespace dlock
