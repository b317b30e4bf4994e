// SPDX-License-Identifier: MIT
// Reads any URL of Redis. It names one server, a set of servers that sentinels watch, or a cluster.
#pragma once

#include "base/result.hpp"
#include "store/redis/cluster_url.hpp"
#include "store/redis/redis_url.hpp"
#include "store/redis/sentinel_url.hpp"
#include "store/store_options.hpp"

#include <variant>

namespace dlock {

using RedisPlace = std::variant<RedisAddress, SentinelSet, ClusterSet>;

// Parses the URL, and adds to the result the passwords and TLS settings that are not in the URL.
// Errc::bad_config: there are TLS settings, but the scheme of the URL has no TLS.
Result<RedisPlace> redis_place_of(const StoreOptions& options);

}  // namespace dlock
