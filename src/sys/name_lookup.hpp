// SPDX-License-Identifier: MIT
// One search for the addresses of a name: /etc/hosts, then the name servers of resolv.conf(5), by
// c-ares in our own poll(2) loop. A server that does not answer in its share of the time is passed
// over (patience() of resolv_conf.hpp). A late answer costs little: after a quarter of a second
// each family of addresses is asked for by itself, which also repeats a lost packet; then IPv4
// addresses are enough, and at the end IPv6 addresses, too.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/socket_address.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dlock {

// At least one address, in the order of RFC 6724. Errors carry only the reason: no_such_host,
// unavailable (no name server answers or knows the name), timed_out at the limit, cancelled,
// system.
Result<std::vector<SocketAddress>> look_up(const std::string& name,
                                           std::uint16_t port,
                                           Time limit,
                                           const Interrupt* interrupt);

// Looks in /etc/hosts alone.
Result<std::vector<SocketAddress>> look_up_in_hosts(const std::string& name,
                                                    std::uint16_t port,
                                                    Time limit,
                                                    const Interrupt* interrupt);

}  // namespace dlock
