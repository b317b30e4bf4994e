// SPDX-License-Identifier: MIT
// Signals: all signals are blocked and read as data from a signalfd(2), except those that mean that
// we crashed. Signals that our caller ignores (nohup) are dropped on arrival. The child gets the
// caller's signal mask and dispositions. No code runs in a signal handler.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <csignal>
#include <optional>

namespace dlock {

class Signals {
 public:
  // Blocks the signals. Must be called before the first thread starts: threads inherit the mask.
  static Result<Signals> take_over();

  int fd() const { return fd_.get(); }
  // Returns the next signal that has arrived and that the caller does not ignore; nullopt: none
  // now.
  std::optional<int> next() const;

  // Restores the caller's signals, between fork and exec. Async-signal-safe.
  void give_back() const;
  // Stops this process as Ctrl-Z does (`group_too`: with its whole group) and returns when it is
  // continued. False: it was not stopped, because no shell could continue it (an orphaned process
  // group, setpgid(2)) or because the caller ignores SIGTSTP.
  bool stop_here(bool group_too = false) const;
  // Dies by the signal `number`, without a core dump; returns if the signal does not kill us (pid
  // 1, or it is ignored).
  void die_by(int number) const;

 private:
  Signals() = default;
  UniqueFd fd_;
  sigset_t callers_mask_{};
  bool callers_ignored_chld_ = false;
};

}  // namespace dlock
