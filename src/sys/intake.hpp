// SPDX-License-Identifier: MIT
// Intake: waits until a connection can send or receive, and counts the bytes that the connection
// receives. All stores use Intake, so no store needs to look at the clock in its loops. Intake
// makes sure that a call ends after its limit however much the server sends, that every wait
// for an answer notices an interrupt, and that an endless answer ends at k_answer_bytes
// (limits.hpp). Bytes that have already arrived at the limit are still read, but in at most
// k_late_rounds rounds.
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
  // Begins one round (one send, one receive or one wait) of the call that ends at `limit`. All
  // rounds of a call pass the same limit; another limit begins another call.
  void begin(Time limit);
  // Notes that a request was sent: the bytes of its answer are counted from 0.
  void asked() { bytes_ = 0; }
  void took(std::size_t bytes) { bytes_ += bytes; }
  bool is_flood(std::size_t most = limits::k_answer_bytes) const { return bytes_ > most; }
  // Returns the error for too many bytes (is_flood()), Errc::protocol. Its text follows the name of
  // the server.
  static Error flood();

  // Waits until `fd` (-1: none) is ready for `events` of poll(2). `beside`: other connections. If
  // one of them has something to read or has ended, the wait ends as if its limit had passed.
  using Beside = std::array<Stream*, 2>;  // null: none
  Wake wait_for(int fd, short events, const Interrupt* interrupt, Time limit, const Beside& beside);
  Wake wait_for(int fd, short events, const Interrupt* interrupt, Time limit) {
    return wait_for(fd, events, interrupt, limit, {});
  }

 private:
  bool may_be_late() { return ++late_rounds_ <= limits::k_late_rounds; }

  Time limit_ = Time::min();  // the newest call's limit
  int late_rounds_ = 0;       // rounds that the newest call began after its limit
  std::size_t bytes_ = 0;
};

// Returns the error for a wait that ended with `wake`, which is not Wake::ready.
Error not_ready(Wake wake, Time started, Time limit);

}  // namespace dlock
