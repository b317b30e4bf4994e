// SPDX-License-Identifier: MIT
// Finds out whether a server speaks TLS, for an error text: a server that expects TLS drops a plain
// connection without a readable message.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/transport.hpp"

namespace dlock {

// The first byte of a TLS alert. No answer of Redis begins with it.
inline constexpr char k_tls_alert = '\x15';

// Connects anew and begins a handshake, which it does not finish. True: the answer was a TLS
// record. False: it was something else, or none came within half a second.
bool speaks_tls(const Endpoint& endpoint, Time limit, const Interrupt* interrupt);

}  // namespace dlock
