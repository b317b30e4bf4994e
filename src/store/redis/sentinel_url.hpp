// SPDX-License-Identifier: MIT
// Reads the URL of a set of Redis servers that sentinels watch:
//   redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/NAME[/db][?sentinel_user=USER]
// rediss+sentinel:// is the same with TLS. The hosts are the sentinels; their default port is
// 26379. User, password and database are those of the servers. NAME is the sentinels' name for the
// master. Errors are those of redis_url.hpp.
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
  RedisAddress server;  // settings of every server, without a host; `text` names the whole set
};

bool is_sentinel_url(std::string_view url);
Result<SentinelSet> parse_sentinel_url(std::string_view url);

}  // namespace dlock
