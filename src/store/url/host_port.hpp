// SPDX-License-Identifier: MIT
// A host as in a URL: "host", "host:port", "[v6]", "[v6]:port"; a link-local address with its
// interface, as "[fe80::1%25eth0]" or, more often, "[fe80::1%eth0]". Errors are bad_url() and quote
// nothing, because in a malformed URL the password may be anywhere.
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

// Returns the Errc::bad_usage of a URL that cannot be read.
Error bad_url(std::string what);

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

// Parses the host by which one server names another: a name, or an address with or without [ ].
// nullopt: it is neither.
std::optional<std::string> parse_announced_host(std::string_view host);

// Returns the canonical text: "host:port", "[v6]:port" or "[v6%25interface]:port".
std::string text_of(const HostPort& at);

// Returns whether this is localhost or a loopback address, whose traffic crosses no network.
bool is_this_machine(std::string_view host);

// Parses a number of digits only: no sign, no space, no 0x. nullopt: it is no such number, or
// larger than `most`.
std::optional<int> parse_digits(std::string_view text, int most);

}  // namespace dlock
