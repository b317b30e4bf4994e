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
#include "store/url/store_url.hpp"
#include "sys/transport.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// What all servers of a set share: the URL's user and password, this database (its digits), and TLS
// if the scheme has it; neither a host nor a text.
Result<RedisAddress> redis_login(const StoreUrl& parts, std::string_view db);

// The server at this host, which may be an IPv6 address; it shares all but host, port and text with
// `like`. The host may be any text, since other servers name it.
RedisAddress server_at(const RedisAddress& like, std::string_view host, std::uint16_t port);
std::vector<RedisAddress> servers_at(const RedisAddress& like, const std::vector<HostPort>& hosts);

}  // namespace dlock
