// SPDX-License-Identifier: MIT
// Guesses which kind of server listens at an address where another kind was expected, for error
// texts. The guess is the end of a sentence that begins with the server's name: "is PostgreSQL; is
// it postgresql:// ?". It is empty if the kind is unknown or the expected one.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>

namespace dlock {

// Returns the guess from the first bytes that the server sent. `ours` is the URL scheme of the
// expected kind of server, without TLS: "redis".
std::string other_server(std::string_view first_bytes, std::string_view ours);

// Returns the guess about a server that closed the connection silently, or whose answer is not
// understood. To find out, connects a few more times, for at most a second in all: tests whether
// the server speaks TLS, and sends it short questions in other protocols.
std::string other_server(const Endpoint& endpoint,
                         std::string_view ours,
                         Time limit,
                         const Interrupt* interrupt);

// Counts the connections that a server closed before its first answer. After the first such
// connection nothing is guessed: the answer may just have been lost, and another try is cheaper
// than a guess. After the second one the kind of the server is guessed.
class HangUps {
 public:
  // Counts one more such connection. Returns the guess of other_server() the second time, and an
  // empty text every other time.
  std::string one_more(const Endpoint& endpoint,
                       std::string_view ours,
                       Time limit,
                       const Interrupt* interrupt);

 private:
  int count_ = 0;
};

}  // namespace dlock
