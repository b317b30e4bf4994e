// SPDX-License-Identifier: MIT
// What listens in place of the server that a URL means. For error texts, in words that go on behind
// the server's name: "is PostgreSQL; is it postgresql:// ?". Empty: not known, or it is ours.
#pragma once

#include "base/boot_clock.hpp"
#include "sys/interrupt.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>

namespace dlock {

// By the first bytes that it has said. `ours` is the scheme of a URL without TLS: "redis".
std::string other_server(std::string_view first_bytes, std::string_view ours);

// Of a server that hung up without a word, or that is not understood: connects a few times more,
// for half a second at most, to ask whether it speaks TLS or what its own first words are.
std::string other_server(const Endpoint& endpoint,
                         std::string_view ours,
                         Time limit,
                         const Interrupt* interrupt);

// When a server that has not answered yet hangs up. The first time it may be an answer that was
// lost, and another try costs less than the question what listens: only the second time is it
// asked.
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
