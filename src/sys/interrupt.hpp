// SPDX-License-Identifier: MIT
// Interrupt: a descriptor that a call polls besides its own. When it becomes readable, ends_call()
// does other work, and may end the call.
#pragma once

#include <poll.h>

namespace dlock {

class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  virtual ~Interrupt() = default;

  // Polled for POLLIN together with the call's own descriptors; -1: nothing to poll.
  virtual int fd() const = 0;
  // Called during a call when fd() is readable, and again as long as it stays readable. True: the
  // call ends with Errc::cancelled. False: the call continues to wait.
  virtual bool ends_call() const = 0;
};

// Returns the entry for a call's poll(2); `interrupt` may be null.
inline pollfd polled(const Interrupt* interrupt) {
  return {interrupt != nullptr ? interrupt->fd() : -1, POLLIN, 0};
}
// Returns whether the call ends. Called after poll(2), with the entry that polled() returned.
inline bool ends_call(const Interrupt* interrupt, const pollfd& polled) {
  return interrupt != nullptr && polled.revents != 0 && interrupt->ends_call();
}

// Forwards to another interrupt, which can change between calls.
class InterruptSlot : public Interrupt {
 public:
  void set(const Interrupt* now) { now_ = now; }  // null: no interrupt
  int fd() const override { return now_ != nullptr ? now_->fd() : -1; }
  bool ends_call() const override { return now_ != nullptr && now_->ends_call(); }

 private:
  const Interrupt* now_ = nullptr;
};

}  // namespace dlock
