// SPDX-License-Identifier: MIT
// A Redis cluster, from a URL:
//   redis+cluster://[user[:password]@]host[:port][,host[:port]…]
// and the same with rediss+cluster:// for TLS. The hosts are some of its nodes, port 6379 if none
// is said; the others are found by their help. Errors as in redis_url.hpp, and Errc::bad_config for
// a database other than 0.
#pragma once

#include "base/result.hpp"
#include "store/redis/redis_url.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct ClusterSet {
  std::vector<RedisAddress> seeds;  // at least one
  std::string text;                 // of the whole URL, without user and password
};

bool is_cluster_url(std::string_view url);
Result<ClusterSet> parse_cluster_url(std::string_view url);

}  // namespace dlock
