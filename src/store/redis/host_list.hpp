// SPDX-License-Identifier: MIT
// The servers of a set, as a URL lists them: host[:port][,host[:port]…]. Errors as in
// redis_url.hpp.
#pragma once

#include "base/result.hpp"
#include "store/redis/redis_url.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// `many`: the word for the servers in errors, such as "sentinels". The result has neither user nor
// password.
Result<std::vector<RedisAddress>> parse_hosts(std::string_view hosts,
                                              bool tls,
                                              std::uint16_t default_port,
                                              std::string_view many);

// The list with all ports, for messages and comparing.
std::string text_of(const std::vector<RedisAddress>& hosts);

// The server that another server names: all but host and port is as in `like`. The host may be an
// IPv6 address.
RedisAddress server_at(const RedisAddress& like, std::string_view host, std::uint16_t port);

}  // namespace dlock
