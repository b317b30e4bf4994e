// SPDX-License-Identifier: MIT
// Resolves host names to socket addresses, within a limit. Numeric addresses take no lookup; names
// are looked up by c-ares (name_lookup.hpp). getaddrinfo(3) is never used: it has no limit, and a
// static binary cannot load its plug-ins (so mDNS, LDAP and other NSS sources are not asked).
//
// A lookup may take half of the time, so that the rest is left for connecting. Its result is
// remembered, and used if later no name server answers in time or knows the name: a held lock must
// not be lost because of a failed lookup. May be called from any thread.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/socket_address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock {

// Returns the text of an IPv4 or IPv6 address without its port. A link-local address has its
// interface: "fe80::1%eth0".
std::string numeric_text(const SocketAddress& address);

// Returns at least one address, in the order in which to try them: addresses of silent servers come
// last. "fe80::1%eth0" is an address on a link, and "localhost" is known without /etc/hosts.
// Errors: no_such_host, unavailable (no name server answers or knows the name), timed_out after
// half of the time, cancelled by `interrupt` (may be null).
Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                           std::uint16_t port,
                                           Time limit,
                                           const Interrupt* interrupt);

// Notes whether the server at this address is silent (it accepted a connection and did not answer)
// or has answered since.
void note_silence(const SocketAddress& address, bool silent);

}  // namespace dlock
