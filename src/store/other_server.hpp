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

// Judges by the server's first bytes. `ours`: the scheme of the expected server without TLS, as
// "redis".
std::string other_server(std::string_view first_bytes, std::string_view ours);

// For a server that closed the connection silently, or whose answer is not understood: connects a
// few more times, for at most half a second, to see its first bytes or if it speaks TLS.
std::string other_server(const Endpoint& endpoint,
                         std::string_view ours,
                         Time limit,
                         const Interrupt* interrupt);

// Counts the connections that a server closed before its first answer. The first time, the answer
// may just have been lost, and another try is cheaper than finding out which server it is. That is
// only done from the second time on.
class HangUps {
 public:
  // Counts one more. Returns the result of other_server(), or nothing the first time.
  std::string one_more(const Endpoint& endpoint,
                       std::string_view ours,
                       Time limit,
                       const Interrupt* interrupt);

 private:
  int count_ = 0;
};

}  // namespace dlock
