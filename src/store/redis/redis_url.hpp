// SPDX-License-Identifier: MIT
// Reads the address of a Redis server from a URL:
//   redis://[user[:password]@]host[:port][/db]     host may be an IPv6 address in [ ]
//   rediss://…                                     the same, with TLS
//   redis+unix://[user[:password]@]/path[?db=N]
// User, password and path are percent-decoded. No error text quotes any part of the URL, because in
// a malformed URL the password may be anywhere.
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
  // The server is asked for its role before the first question, and is used only if it is a master.
  bool must_be_master = false;
  // The server is asked for its role, which says how many replicas it has.
  bool counts_replicas = false;
  bool asks_uptime = false;  // the server is asked how long it has been running
  // The URL in one canonical form, without user and password, for messages and comparisons.
  std::string text;
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why.
Result<RedisAddress> parse_redis_url(std::string_view url);

// Returns the settings that all servers of a set share: the user and password of the URL, the
// database (`db`, in digits), and TLS if the URL's scheme has it. Leaves host and text empty.
Result<RedisAddress> redis_login(const StoreUrl& parts, std::string_view db);

// Returns the address of the server at this host and port, with all other settings of `like`. The
// host may be any text, because another server has named it.
RedisAddress server_at(const RedisAddress& like, std::string_view host, std::uint16_t port);
std::vector<RedisAddress> servers_at(const RedisAddress& like, const std::vector<HostPort>& hosts);

}  // namespace dlock
