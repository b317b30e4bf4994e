// SPDX-License-Identifier: MIT
// Computes how long a failover takes, and whether a hold outlives it. Pure. A master that is silent
// for the time down-after-milliseconds counts as failed; after that the sentinels take up to
// k_promotion until they name another master (measured: 1.2 to 2.1 s). If a renewal is then waiting
// for the old, frozen master, it fails at its limit, and only the next renewal succeeds.
#pragma once

#include "core/lease.hpp"

#include <string>

namespace dlock {

// Time from "the master is down" to the next master, including the pause between two renewals.
constexpr Duration k_promotion = std::chrono::milliseconds(2500);

// Returns the time that corresponds to down-after-milliseconds in a cluster whose
// cluster-node-timeout is `node_timeout`. Measured: a failed master is replaced after 1.5 times
// node-timeout and up to 1.3 s more.
Duration down_after_in_cluster(Duration node_timeout);

// Returns the longest down-after-milliseconds that a hold outlives if the master fails just before
// the next renewal is due. At that time 2/3 ttl - D - K - kill-after is left (ARCHITECTURE.md,
// "Lease"); a promotion and the limit of one renewal must fit into it, too.
Duration failover_that_fits(const LeaseTerms& lease);

// Returns the shortest lease, in steps of five seconds, that outlives a failover with this
// down-after-milliseconds.
Duration ttl_that_outlives(Duration down_after);

// Return parts of a warning: "a failover here takes up to 33s", and "a hold of 30s may end by it,
// --ttl 75s would outlive it".
std::string failover_text(Duration down_after);
std::string too_short_text(Duration ttl, Duration down_after);

}  // namespace dlock
