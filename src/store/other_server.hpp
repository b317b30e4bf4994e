// SPDX-License-Identifier: MIT
// Guesses which server listens in place of the expected one, for error texts: words that follow the
// server's name: "is PostgreSQL; is it postgresql:// ?". Empty: unknown, or the expected server.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>

namespace dlock {

// Judges the server's first bytes. `ours`: the scheme of a URL without TLS: "redis".
std::string other_server(std::string_view first_bytes, std::string_view ours);

// For a server that hung up silently or is not understood: connects a few times more, for at most
// half a second, to find out whether it speaks TLS, or its first words.
std::string other_server(const Endpoint& endpoint,
                         std::string_view ours,
                         Time limit,
                         const Interrupt* interrupt);

// A server hung up before its first answer. The first time the answer may have been lost, and
// another try costs less than the question which server it is: that is asked only the second time.
class HangUps {
 public:
  // The words of other_server(), or nothing.
  std::string one_more(const Endpoint& endpoint,
                       std::string_view ours,
                       Time limit,
                       const Interrupt* interrupt);

 private:
  int count_ = 0;
};

}  // namespace dlock
