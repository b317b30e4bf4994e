// SPDX-License-Identifier: MIT
// The locks of a store as metrics, in the text format of Prometheus (version 0.0.4), for the
// textfile collector of node_exporter or an exporter that runs a command. Their label is the
// name of the lock: a label with an owner, a token or a reason would make a new time series for
// each run.
#pragma once

#include "cmd/json_output.hpp"

#include <string>
#include <vector>

namespace dlock {

// Returns dlock_up 1 and, for each lock: dlock_held, dlock_holders, dlock_waiters and, as far as
// they are known, dlock_hold_age_seconds and dlock_lease_left_seconds. `has_line`: the store knows
// who waits; without it there is no dlock_waiters.
std::string lock_metrics(const std::vector<NamedHolding>& locks, bool has_line);

// Returns dlock_up 0 alone: the locks could not be read.
std::string metrics_without_store();

}  // namespace dlock
