// SPDX-License-Identifier: MIT
// Bytes of a hostile server through the TLS layer: at once, in the middle of a handshake, or behind
// it. The first byte says when, the second how the rest is cut.
#include "sys/tls_session.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "support/tls_server.hpp"

namespace {

// False: the session has ended.
bool feed_in_pieces(dlock::TlsSession& session, std::string_view bytes, std::size_t piece) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!session.feed(bytes.substr(0, piece))) return false;
  }
  return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  dlock::TlsSettings settings;
  settings.insecure = true;
  auto session = dlock::TlsSession::open(settings, "h");
  if (!session) std::abort();
  const std::size_t piece = std::size_t{1} + data[1];
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  dlock::test::TlsServer server;
  for (int flights = data[0] % 3; flights > 0; --flights) {
    server.feed(std::exchange(session->unsent(), {}));
    std::string sealed = server.sealed();
    // One byte of it is changed in some of the inputs.
    if (data[0] >= 128 && !sealed.empty()) sealed[data[0] % sealed.size()] ^= 1;
    if (!feed_in_pieces(*session, sealed, piece)) return 0;
  }
  const bool lives = feed_in_pieces(*session, rest, piece);
  // Nothing that the server did not seal may come out as plain bytes.
  if (!session->plain().empty()) std::abort();
  if (lives && session->established() && !session->seal("question")) std::abort();
  return 0;
}
