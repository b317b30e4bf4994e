// SPDX-License-Identifier: MIT
// PgCall: bounds the work of one call of libpq. libpq reads as long as bytes arrive, accepts
// messages of any length, and computes as many rounds of SCRAM as the server asks for (up to 2^31)
// before it returns. While a PgCall lives on this thread, libpq reads at most k_turn_bytes between
// two waits (fewer if it takes too long over them: it searches all parameters of the server for
// each one that arrives), and SCRAM stops at the end of the call.
//
// For that, this file replaces recv(2) and OpenSSL's HMAC_Init_ex in the whole process. Other code
// has no PgCall and sees no difference.
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
  // `intake`: that of the connection. `most`: the limit of one answer, in bytes. Calls may be
  // nested.
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

  // Returns why this call stopped libpq; nullopt: it did not.
  const std::optional<Error>& ended() const { return ended_; }

  // Called by the replacements of recv(2) and HMAC_Init_ex.
  ssize_t read(int fd, void* buffer, std::size_t size, int flags);
  bool may_compute();

 private:
  Intake& intake_;
  Time started_;
  Time limit_;
  const Interrupt* interrupt_;
  std::size_t most_;
  Time turn_began_;
  std::size_t turn_ = limits::k_turn_bytes;  // bytes that libpq may read between two waits
  std::size_t left_ = limits::k_turn_bytes;  // bytes that it may still read before the next wait
  unsigned rounds_ = 0;
  std::optional<Error> ended_;
  PgCall* outer_;
};

}  // namespace dlock
