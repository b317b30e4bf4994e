// SPDX-License-Identifier: MIT
// The address of a Redis server, from a URL:
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
  // The server is asked for its role before the first question: it must be a master.
  bool must_be_master = false;
  bool counts_replicas = false;  // the server's role must also say how many replicas it has
  bool asks_uptime = false;      // the server is also asked how long it has been running
  // The URL in its canonical form, without user and password, for messages and comparisons.
  std::string text;
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why.
Result<RedisAddress> parse_redis_url(std::string_view url);

// Returns what all servers of a set share: the URL's user and password, this database (its digits),
// and TLS if the scheme has it. Host and text are left empty.
Result<RedisAddress> redis_login(const StoreUrl& parts, std::string_view db);

// Returns the server at this host, which may be an IPv6 address; all but host, port and text are
// those of `like`. The host may be any text, because other servers name it.
RedisAddress server_at(const RedisAddress& like, std::string_view host, std::uint16_t port);
std::vector<RedisAddress> servers_at(const RedisAddress& like, const std::vector<HostPort>& hosts);

}  // namespace dlock
