// SPDX-License-Identifier: MIT
#include "sys/tls_probe.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace dlock {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

// A ClientHello of TLS 1.2 without extensions (RFC 5246, 7.4.1.2). The handshake is not continued,
// so its 32 random bytes need not be random.
constexpr std::string_view k_hello =
    "\x16\x03\x01\x00\x2f"              // a record of the handshake, 47 bytes
    "\x01\x00\x00\x2b\x03\x03"          // ClientHello, 43 bytes, TLS 1.2
    "dlock asks: do you speak TLS? OK"  // random
    "\x00"                              // no session
    "\x00\x04\xc0\x2b\xc0\x2f"          // two ciphers: ECDHE with ECDSA or RSA, AES-128-GCM
    "\x01\x00"sv;                       // no compression

constexpr char k_handshake = '\x16';

}  // namespace

bool speaks_tls(const Endpoint& endpoint, Time limit, const Interrupt* interrupt) {
  limit = std::min(limit, BootClock::now() + 500ms);
  auto transport = Transport::connect(endpoint, limit, interrupt);
  if (!transport || !transport->send(k_hello, limit)) return false;
  char first = 0;
  const auto n = transport->receive(&first, 1, limit);
  return n && (first == k_tls_alert || first == k_handshake);
}

}  // namespace dlock
