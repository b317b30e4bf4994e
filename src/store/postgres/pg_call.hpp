// SPDX-License-Identifier: MIT
// PgCall: one call over libpq. libpq reads as long as bytes arrive, takes messages of any length
// and computes what a server asks for (2^31 rounds of SCRAM) before it returns. While a PgCall
// lives on this thread, libpq sees at most k_turn_bytes between two waits, fewer if they make it
// slow (it looks for each parameter of the server among all), and its rounds end with the call.
//
// For that this file replaces recv(2) and OpenSSL's HMAC_Init_ex, for libpq and for all other code
// of the process, which has no PgCall.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/intake.hpp"
#include "sys/interrupt.hpp"

#include <sys/types.h>

#include <cstddef>
#include <optional>

namespace dlock {

class PgCall {
 public:
  // `intake`: the connection's. `most`: bytes that one answer may have. Calls may be nested.
  PgCall(Intake& intake,
         Time limit,
         const Interrupt* interrupt,
         std::size_t most = limits::k_answer_bytes);
  PgCall(const PgCall&) = delete;
  PgCall& operator=(const PgCall&) = delete;
  ~PgCall();

  // Waits until the connection's socket, `fd`, is ready for `events` of poll(2), or ended() is set.
  // Errors: timed_out ("no answer within …"), cancelled, protocol (a flood), system.
  Result<void> wait(int fd, short events);

  // Why libpq could not go on, if we stopped it.
  const std::optional<Error>& ended() const { return ended_; }

  // For recv(2) and HMAC_Init_ex.
  ssize_t read(int fd, void* buffer, std::size_t size, int flags);
  bool may_compute();

 private:
  Intake& intake_;
  Time started_;
  Time limit_;
  const Interrupt* interrupt_;
  std::size_t most_;
  Time turn_began_;
  std::size_t turn_ = limits::k_turn_bytes;  // may be taken in a turn …
  std::size_t left_ = limits::k_turn_bytes;  // … and in this one
  unsigned rounds_ = 0;
  std::optional<Error> ended_;
  PgCall* outer_;
};

}  // namespace dlock
