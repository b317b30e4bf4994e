// SPDX-License-Identifier: MIT
// Looks at the surroundings of a Redis server, for `dlock doctor`: the sentinels of the URL, the
// masters of its cluster, and their replicas.
#pragma once

#include "store/redis/doctor/look.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/sentinel_url.hpp"

#include <vector>

namespace dlock::doctor {

std::vector<SentinelFacts> look_at_sentinels(const SentinelSet& set, Time until);

// How the server that `client` asked last was reached.
Way way_of(const RedisClient& client);

// Asks any server behind the URL. A node of a cluster that hangs does not keep us from the others.
Result<Answer> first_answer(RedisClient& client,
                            const Words& question,
                            bool is_cluster,
                            Time limit);

// Finds the node that has the name, and leaves `client` connected to it, or not connected if it
// does not answer.
ClusterFacts look_at_cluster(RedisClient& client, const LookTerms& terms);
// The other masters of the cluster.
void add_masters(SetFacts& set, RedisClient& client, const LookTerms& terms);
// Adds the replicas of each master, after the masters.
void add_replicas(SetFacts& set, const RedisClient& client, Time until);

}  // namespace dlock::doctor
