// SPDX-License-Identifier: MIT
// A set of Redis servers that sentinels watch, from a URL:
//   redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/NAME[/db][?sentinel_user=USER]
// or with rediss+sentinel:// for TLS. The hosts are the sentinels, with port 26379 by default;
// user, password and database are those of the servers. NAME is the sentinels' name for the master.
// Errors as in redis_url.hpp.
#pragma once

#include "base/result.hpp"
#include "store/redis/redis_url.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct SentinelSet {
  std::vector<RedisAddress> sentinels;
  std::string name;
  RedisAddress server;  // the settings of every server, without a host; `text` is that of the set
};

bool is_sentinel_url(std::string_view url);
Result<SentinelSet> parse_sentinel_url(std::string_view url);

}  // namespace dlock
