// SPDX-License-Identifier: MIT
// Guesses which kind of server listens in place of the expected one, for error texts. The result
// follows the server's name: "is PostgreSQL; is it postgresql:// ?". Empty: unknown, or the
// expected kind.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>

namespace dlock {

// Returns the guess from the first bytes that the server sent. `ours`: the scheme of the expected
// server without TLS, as "redis".
std::string other_server(std::string_view first_bytes, std::string_view ours);

// Returns the guess about a server that closed the connection silently, or whose answer is not
// understood. Connects a few more times, for at most half a second, to read its first bytes or to
// see whether it speaks TLS.
std::string other_server(const Endpoint& endpoint,
                         std::string_view ours,
                         Time limit,
                         const Interrupt* interrupt);

// Counts the connections that a server closed before its first answer. The first time, the answer
// may just have been lost, and another try is cheaper than finding out which server it is. That is
// only done from the second time on.
class HangUps {
 public:
  // Counts one more such connection. Returns the guess of other_server(), or an empty text the
  // first time.
  std::string one_more(const Endpoint& endpoint,
                       std::string_view ours,
                       Time limit,
                       const Interrupt* interrupt);

 private:
  int count_ = 0;
};

}  // namespace dlock
