// SPDX-License-Identifier: MIT
// One search for the addresses of a name: in /etc/hosts, then at the name servers of
// resolv.conf(5), by c-ares in our own poll(2) loop. A server that does not answer in its share of
// the time is passed over (patience() in resolv_conf.hpp). After a quarter of a second without an
// answer, IPv4 and IPv6 addresses are asked for separately, which also replaces a lost packet. From
// then on the search ends as soon as it has IPv4 addresses. At the limit it returns what it has,
// also if that is only IPv6.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/socket_address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock {

// Returns at least one address, in the order of RFC 6724. An error's text is only the reason.
// Errors: no_such_host, unavailable (no name server answers or knows the name), timed_out at the
// limit, cancelled, system.
Result<std::vector<SocketAddress>> look_up(const std::string& name,
                                           std::uint16_t port,
                                           Time limit,
                                           const Interrupt* interrupt);

// As look_up(), but only in /etc/hosts.
Result<std::vector<SocketAddress>> look_up_in_hosts(const std::string& name,
                                                    std::uint16_t port,
                                                    Time limit,
                                                    const Interrupt* interrupt);

}  // namespace dlock
