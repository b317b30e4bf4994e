// SPDX-License-Identifier: MIT
// Whether a server speaks TLS, for an error text: a server that expects TLS drops plain connections
// and says nothing that a person could read.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/transport.hpp"

namespace dlock {

// The first byte of an alert, which no answer of Redis begins with.
inline constexpr char k_tls_alert = '\x15';

// Connects once more and begins a handshake, which it does not finish. True: the answer was a
// record of TLS. False: it was something else, or none came within half a second.
bool speaks_tls(const Endpoint& endpoint, Time limit, const Interrupt* interrupt);

}  // namespace dlock
