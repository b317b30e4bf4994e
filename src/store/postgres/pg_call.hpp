// SPDX-License-Identifier: MIT
// PgCall: limits what libpq does in one call. By itself libpq reads as long as bytes arrive,
// accepts messages of any length, and computes as many rounds of SCRAM as the server asks for (up
// to 2^31) before it returns. While a PgCall exists on this thread, libpq reads at most
// k_turn_bytes between two waits, and SCRAM stops at the limit of the call. If libpq takes too long
// over these bytes, it may read fewer of them: a server can make libpq slow with many parameters,
// because libpq searches all earlier ones for each new one.
//
// For this, pg_call.cpp replaces recv(2) and OpenSSL's HMAC_Init_ex in the whole process. A thread
// without a PgCall sees no difference.
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
  // `intake` counts the bytes received on the connection. `most` is the limit of one answer, in
  // bytes. A PgCall may exist within another one.
  PgCall(Intake& intake,
         Time limit,
         const Interrupt* interrupt,
         std::size_t most = limits::k_answer_bytes);
  PgCall(const PgCall&) = delete;
  PgCall& operator=(const PgCall&) = delete;
  ~PgCall();

  // Waits until the connection's socket, `fd`, is ready for `events` (poll(2)), or until ended() is
  // set. Errors: timed_out ("no answer within …"), cancelled, protocol (a flood of bytes), system.
  Result<void> wait(int fd, short events);

  // Returns why this PgCall has stopped libpq; nullopt: it has not.
  const std::optional<Error>& ended() const { return ended_; }

  // The functions that replace recv(2) and HMAC_Init_ex call these.
  ssize_t read(int fd, void* buffer, std::size_t size, int flags);
  bool may_compute();

 private:
  Intake& intake_;
  Time started_;
  Time limit_;
  const Interrupt* interrupt_;
  std::size_t most_;
  Time turn_began_;
  std::size_t turn_ = limits::k_turn_bytes;  // how many bytes libpq may read between two waits
  // How many bytes libpq may still read before the next wait.
  std::size_t left_ = limits::k_turn_bytes;
  unsigned rounds_ = 0;
  std::optional<Error> ended_;
  PgCall* outer_;
};

}  // namespace dlock
