// SPDX-License-Identifier: MIT
// A set of Redis servers that sentinels watch, from a URL:
//   redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/NAME[/db][?sentinel_user=USER]
// and the same with rediss+sentinel:// for TLS. The hosts are the sentinels, with port 26379 by
// default; user, password and database are the servers'. NAME is the sentinels' name for the
// master. Errors as in redis_url.hpp.
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
  RedisAddress server;  // settings of each server, without a host; `text`: the set's
};

bool is_sentinel_url(std::string_view url);
Result<SentinelSet> parse_sentinel_url(std::string_view url);

}  // namespace dlock
