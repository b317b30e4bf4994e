// SPDX-License-Identifier: MIT
// A host as URLs write it: "host", "host:port", "[v6]", "[v6]:port"; a link-local address with its
// interface, "[fe80::1%25eth0]" or, more often, "[fe80::1%eth0]". Errors are Errc::bad_usage and
// quote nothing, because a badly written URL may have its password anywhere.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct HostPort {
  std::string host;  // a name in lower case or a numeric address: "::1", "fe80::1%eth0"
  std::uint16_t port = 0;
};

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

// The host that one server names to find another: a name, or an address with or without [ ].
// Nothing: it is neither.
std::optional<std::string> parse_announced_host(std::string_view host);

// The canonical text of the host: "host:port", "[v6]:port" or "[v6%25interface]:port".
std::string text_of(const HostPort& at);

// localhost and the loopback addresses: traffic to them crosses no network.
bool is_this_machine(std::string_view host);

// Digits only: no sign, no space, no 0x.
std::optional<int> parse_digits(std::string_view text, int most);

}  // namespace dlock
