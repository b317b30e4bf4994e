// SPDX-License-Identifier: MIT
// Where a Redis is, from a URL:
//   redis://[user[:password]@]host[:port][/db]     host may be an IPv6 address in [ ]
//   rediss://…                                     the same, with TLS
//   redis+unix://[user[:password]@]/path[?db=N]
// User, password and path are percent-decoded. No error text quotes any part of the URL, because a
// badly written one may have its password anywhere.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct RedisAddress {
  Endpoint endpoint;
  std::string user;
  Secret password;
  int db = 0;
  // The server is asked for its role first: it must be a master …
  bool must_be_master = false;
  bool counts_replicas = false;  // … and the number of its replicas matters
  bool asks_uptime = false;      // … and how long it has been running
  std::string text;              // canonical, for messages and comparing; neither user nor password
};

// Errc::bad_usage, with what is wrong.
Result<RedisAddress> parse_redis_url(std::string_view url);

}  // namespace dlock
