// SPDX-License-Identifier: MIT
// Host names to socket addresses, with a limit. Numeric addresses cost nothing; names go through
// c-ares (name_lookup.hpp). getaddrinfo(3) is never used: it knows no limit, and a static binary
// cannot carry its plug-ins (so mDNS, LDAP and other NSS sources are not asked).
//
// A lookup may take half of the time, so that the rest is left for the addresses. Its result is
// remembered, and used when no name server answers in that half or knows the name any more: a held
// lock must not be lost because a name cannot be looked up again. Any thread.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/socket_address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock {

// An IPv4 or IPv6 address without its port; a link-local one with its interface.
std::string numeric_text(const SocketAddress& address);

// At least one address, in the order in which to try them: silent ones come last. "fe80::1%eth0" is
// an address on a link, and "localhost" is known without /etc/hosts. Errors: no_such_host,
// unavailable (no name server answers or knows the name), timed_out at half of the limit, cancelled
// when `interrupt` (may be null) is raised.
Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                           std::uint16_t port,
                                           Time limit,
                                           const Interrupt* interrupt);

// Notes that a server at this address took a connection and was silent, or has spoken since.
void note_silence(const SocketAddress& address, bool silent);

}  // namespace dlock
