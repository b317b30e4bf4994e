// SPDX-License-Identifier: MIT
// Interrupt: what can end a call that waits in poll(2), and what may be done during such a call.
#pragma once

#include <poll.h>

namespace dlock {

class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  virtual ~Interrupt() = default;

  // Polled for POLLIN besides what the call waits for; -1: nothing.
  virtual int fd() const = 0;
  // Called by the call once fd() is readable, and again while it is. True: the call ends with
  // Errc::cancelled. False: it waits on.
  virtual bool ends_call() const = 0;
};

// The entry for a call's poll(2); `interrupt` may be null.
inline pollfd polled(const Interrupt* interrupt) {
  return {interrupt != nullptr ? interrupt->fd() : -1, POLLIN, 0};
}
// Called after poll(2), with the entry that polled() gave.
inline bool ends_call(const Interrupt* interrupt, const pollfd& polled) {
  return interrupt != nullptr && polled.revents != 0 && interrupt->ends_call();
}

// Stands for another interrupt, which changes between calls.
class InterruptSlot : public Interrupt {
 public:
  void set(const Interrupt* now) { now_ = now; }  // null: no interrupt
  int fd() const override { return now_ != nullptr ? now_->fd() : -1; }
  bool ends_call() const override { return now_ != nullptr && now_->ends_call(); }

 private:
  const Interrupt* now_ = nullptr;
};

}  // namespace dlock
