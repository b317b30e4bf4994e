// SPDX-License-Identifier: MIT
// Looks at what is around one Redis server, for `dlock doctor`: the sentinels of the URL and the
// replicas that the server names.
#pragma once

#include "store/redis/doctor/facts.hpp"
#include "store/redis/redis_client.hpp"
#include "store/store_options.hpp"

#include <vector>

namespace dlock::doctor {

// Of a URL without sentinels: none.
std::vector<SentinelFacts> look_at_sentinels(const StoreOptions& options, Time until);
bool any_answers(const std::vector<SentinelFacts>& sentinels);
bool has_replicas(const std::vector<SentinelFacts>& sentinels);  // of the master

// How the server is met that `client` has asked last.
Way way_of(const RedisClient& client);

// Behind the master of the set, each of its replicas.
void add_replicas(SetFacts& set, const RedisClient& client, Time until);

}  // namespace dlock::doctor
