// SPDX-License-Identifier: MIT
// Reads the address of a Redis cluster from a URL:
//   redis+cluster://[user[:password]@]host[:port][,host[:port]…]
// rediss+cluster:// is the same with TLS. The hosts are some nodes of the cluster, which name the
// other nodes; their default port is 6379. Errors are those of redis_url.hpp, and Errc::bad_config
// if the URL names a database other than 0.
#pragma once

#include "base/result.hpp"
#include "store/redis/redis_url.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct ClusterSet {
  std::vector<RedisAddress> seeds;  // at least one
  std::string text;                 // the whole URL without user and password, for messages
};

bool is_cluster_url(std::string_view url);
Result<ClusterSet> parse_cluster_url(std::string_view url);

}  // namespace dlock
