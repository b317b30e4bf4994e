// SPDX-License-Identifier: MIT
// Host names to socket addresses, with a limit. Numeric addresses cost nothing; names go through
// c-ares, which reads /etc/hosts and resolv.conf and asks DNS, driven by our own poll(2) loop.
// getaddrinfo(3) is never used: it knows no limit, and a static binary cannot carry its plug-ins
// (so mDNS, LDAP and other NSS sources are not asked).
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dlock {

// Any kind of socket address: IPv4, IPv6 or a path.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const;
  int family() const { return storage.ss_family; }
};

// An IPv4 or IPv6 address without its port.
std::string numeric_text(const SocketAddress& address);

// At least one address, in the order they should be tried. Errors: no_such_host, unavailable (no
// name server answers, or none knows), timed_out at the limit, cancelled when `interrupt` (may be
// null) is raised.
Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                           std::uint16_t port,
                                           Time limit,
                                           const Interrupt* interrupt);

}  // namespace dlock
