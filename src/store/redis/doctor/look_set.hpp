// SPDX-License-Identifier: MIT
// Looks at the servers around a Redis server, for `dlock doctor`: the URL's sentinels, the masters
// of its cluster, and their replicas.
#pragma once

#include "store/redis/doctor/look.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/sentinel_url.hpp"

#include <vector>

namespace dlock::doctor {

std::vector<SentinelFacts> look_at_sentinels(const SentinelSet& set, Time until);

// Returns how `client` reached the server that it asked last.
Way way_of(const RedisClient& client);

// Asks a server behind the URL and returns the first answer. In a cluster a node that hangs does
// not keep us from asking others.
Result<Answer> first_answer(RedisClient& client,
                            const Words& question,
                            bool is_cluster,
                            Time limit);

// Returns what the cluster says about itself, and which node owns the slot of the name. Leaves
// `client` connected to that node, or not connected if it does not answer.
ClusterFacts look_at_cluster(RedisClient& client, const LookTerms& terms);
// Adds the cluster's other masters.
void add_masters(SetFacts& set, RedisClient& client, const LookTerms& terms);
// Adds the replicas of each master, after the masters.
void add_replicas(SetFacts& set, const RedisClient& client, Time until);

}  // namespace dlock::doctor
