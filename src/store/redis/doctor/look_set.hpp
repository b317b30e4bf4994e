// SPDX-License-Identifier: MIT
// Looks at the other servers that belong to a Redis server, for `dlock doctor`: the sentinels in
// the URL, the masters of the cluster, and the replicas of each master.
#pragma once

#include "store/redis/doctor/look.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/sentinel_url.hpp"

#include <vector>

namespace dlock::doctor {

std::vector<SentinelFacts> look_at_sentinels(const SentinelSet& set, Time until);

// Returns how `client` reached the server of its newest question.
Way way_of(const RedisClient& client);

// Asks a server behind the URL and returns the first answer. If a node of a cluster does not answer
// in time, asks another node.
Result<Answer> first_answer(RedisClient& client,
                            const Words& question,
                            bool is_cluster,
                            Time limit);

// Returns what the cluster says about itself, and which node owns the slot of the examined name.
// Leaves `client` connected to that node, or not connected if the node does not answer.
ClusterFacts look_at_cluster(RedisClient& client, const LookTerms& terms);
// Looks at the other masters of the cluster, and adds the facts to `set`.
void add_masters(SetFacts& set, RedisClient& client, const LookTerms& terms);
// Looks at the replicas of each master, and adds the facts to `set`, after those of the masters.
void add_replicas(SetFacts& set, const RedisClient& client, Time until);

}  // namespace dlock::doctor
