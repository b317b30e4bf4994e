// SPDX-License-Identifier: MIT
// How long a failover takes, and whether a hold outlives it. Pure. After down-after-milliseconds
// the sentinels need up to k_promotion to name another master (measured: 1.2 to 2.1 s). By then a
// renewal may be waiting for the old, frozen master; it fails at its limit, and the next one
// succeeds.
#pragma once

#include "core/lease.hpp"

#include <string>

namespace dlock {

// Including the pause between two renewals.
constexpr Duration k_promotion = std::chrono::milliseconds(2500);

// Returns the down-after time that corresponds to a cluster's node-timeout. Measured: a failed
// owner is replaced after 1.5 x node-timeout and up to 1.3 s more.
Duration down_after_in_cluster(Duration node_timeout);

// Returns the longest down-after time that a hold outlives if the master fails just before the next
// renewal is due: W = 2/3 ttl - D - K - kill-after is left then (ARCHITECTURE.md, "Lease").
Duration failover_that_fits(const LeaseTerms& lease);

// Returns the shortest lease, in steps of five seconds, that outlives this down-after time.
Duration ttl_that_outlives(Duration down_after);

// Return "a failover here takes up to 33s" and "a hold of 30s may end by it, --ttl 75s would
// outlive it".
std::string failover_text(Duration down_after);
std::string too_short_text(Duration ttl, Duration down_after);

}  // namespace dlock
