// SPDX-License-Identifier: MIT
// A Redis cluster, from a URL:
//   redis+cluster://[user[:password]@]host[:port][,host[:port]…]
// or with rediss+cluster:// for TLS. The hosts are some nodes of the cluster, with port 6379 by
// default; those nodes name the others. Errors as in redis_url.hpp; also Errc::bad_config for a
// database other than 0.
#pragma once

#include "base/result.hpp"
#include "store/redis/redis_url.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct ClusterSet {
  std::vector<RedisAddress> seeds;  // at least one
  std::string text;                 // the whole URL, without user and password
};

bool is_cluster_url(std::string_view url);
Result<ClusterSet> parse_cluster_url(std::string_view url);

}  // namespace dlock
