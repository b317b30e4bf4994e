// SPDX-License-Identifier: MIT
// How a child ended, and why it was killed.
#pragma once

namespace dlock {

// How a child ended, decoded once from its wait status (waitid(2)).
struct ChildStatus {
  enum class Kind {
    exited,       // value: its exit status
    signalled,    // value: the signal
    not_started,  // value: the errno of exec(2)
  };
  Kind kind = Kind::exited;
  int value = 0;
  bool operator==(const ChildStatus&) const = default;
};

// Why a child gets KILL.
enum class KillReason {
  grace_over,     // TERM did not end the child in time
  second_signal,  // the user asked for it: another TERM or INT while it was being stopped
  lapsed,         // the lease ended while dlock did not run: there was no time for a TERM
};

}  // namespace dlock
