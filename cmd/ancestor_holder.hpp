// SPDX-License-Identifier: MIT
// A waiter whose holder is one of the processes above it, while DLOCK_HOLDS does not say so:
// something between the two has emptied the environment (env -i, sudo, ssh to this host).
#pragma once

#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// "process 812, which this one descends from, is the holder: …" with what to do; empty if none is.
// For people: it goes by host name and number of a process.
std::string ancestor_holder_text(const Holding& holding);

}  // namespace dlock
