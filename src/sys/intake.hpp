// SPDX-License-Identifier: MIT
// Intake: what a connection takes from its server, and the only wait for more of it. It is below
// all stores, so that none needs a clock in its loops: a server is late when the limit of the call
// has passed, however much it sends, an interrupt is seen in each turn, and what comes without an
// end ends at k_answer_bytes. What is there already at that moment is still read, but k_late_turns
// times at most.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/limits.hpp"
#include "sys/stream.hpp"

#include <array>
#include <cstddef>

namespace dlock {

enum class Wake { ready, interrupted, limit, broken };

class Intake {
 public:
  // A turn of a call. Calls are told apart by their limits: all turns of one have the same.
  void begin(Time limit);
  // The server was sent something: an answer begins.
  void asked() { bytes_ = 0; }
  void took(std::size_t bytes) { bytes_ += bytes; }
  bool is_flood(std::size_t most = limits::k_answer_bytes) const { return bytes_ > most; }
  // Errc::protocol, as what follows the name of the server.
  static Error flood();

  // Until `fd` (or nothing, for -1) is ready for `events` of poll(2). That one of `beside` is not
  // idle any more is a limit, too.
  using Beside = std::array<Stream*, 2>;  // null: none
  Wake wait_for(int fd, short events, const Interrupt* interrupt, Time limit, const Beside& beside);
  Wake wait_for(int fd, short events, const Interrupt* interrupt, Time limit) {
    return wait_for(fd, events, interrupt, limit, {});
  }

 private:
  bool may_be_late() { return ++late_turns_ <= limits::k_late_turns; }

  Time limit_ = Time::min();  // of the newest call
  int late_turns_ = 0;        // of it
  std::size_t bytes_ = 0;
};

// The error for a wait that has not ended in Wake::ready.
Error not_ready(Wake wake, Time started, Time limit);

}  // namespace dlock
