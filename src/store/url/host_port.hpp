// SPDX-License-Identifier: MIT
// Parses a host as it is written in a URL: "host", "host:port", "[v6]" or "[v6]:port". A link-local
// address has its interface with it, as "[fe80::1%25eth0]" or, more often, "[fe80::1%eth0]". Errors
// are those of bad_url() and quote nothing, because in a malformed URL the password may be
// anywhere.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct HostPort {
  std::string host;  // a name in lower case, or a numeric address: "::1", "fe80::1%eth0"
  std::uint16_t port = 0;
};

// Returns the error (Errc::bad_usage) for a URL that cannot be read.
Error bad_url(std::string what);

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

// Parses the host by which one server names another: a name, or an address with or without [ ].
// nullopt: it is neither of them.
std::optional<std::string> parse_announced_host(std::string_view host);

// Returns the canonical text of a host and port: "host:port", "[v6]:port" or
// "[v6%25interface]:port".
std::string text_of(const HostPort& at);

// Returns whether the host is localhost or a loopback address, so that its traffic crosses no
// network.
bool is_this_machine(std::string_view host);

// Parses a number that has only digits: no sign, no space, no 0x. nullopt: it has other characters,
// or is larger than `most`.
std::optional<int> parse_digits(std::string_view text, int most);

}  // namespace dlock
