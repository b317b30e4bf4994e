// SPDX-License-Identifier: MIT
// Whether a hold outlives a failover by sentinels: arithmetic only. After the sentinels'
// down-after-milliseconds they need up to k_promotion until they name another master (measured:
// 1.2 to 2.1 s). Then an attempt may be under way at the old master, which is frozen, and takes its
// whole limit; the next one succeeds.
#pragma once

#include "core/lease.hpp"

#include <string>

namespace dlock {

constexpr Duration k_promotion =
    std::chrono::milliseconds(2500);  // and the pause between two attempts

// The value of down-after in a cluster. Measured: an owner is replaced 1.5 x node-timeout and up to
// 1.3 s after it fails.
Duration down_after_in_cluster(Duration node_timeout);

// The longest down-after that a hold outlives if it was last renewed just before the crash: then
// W = 2/3 ttl - D - K - kill-after is left (ARCHITECTURE.md, "Lease").
Duration failover_that_fits(const LeaseTerms& lease);

// The shortest lease, in steps of five seconds, that outlives this down-after.
Duration ttl_that_outlives(Duration down_after);

// "a failover here takes up to 33s", and "a hold of 30s may end by it, --ttl 75s would outlive it".
std::string failover_text(Duration down_after);
std::string too_short_text(Duration ttl, Duration down_after);

}  // namespace dlock
