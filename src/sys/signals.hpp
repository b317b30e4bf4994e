// SPDX-License-Identifier: MIT
// Signals: all are blocked and read as data from a signalfd(2), except those that mean that we
// crashed. Signals that our caller ignores (nohup) are dropped when they come. The child gets the
// caller's mask and dispositions. Nothing runs in a signal handler.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <csignal>
#include <optional>

namespace dlock {

class Signals {
 public:
  // Before the first thread: threads inherit the mask.
  static Result<Signals> take_over();

  int fd() const { return fd_.get(); }
  // The next signal that came and that the caller does not ignore; nothing: no such signal.
  std::optional<int> next() const;

  // Between fork and exec: restores the caller's signals. Async-signal-safe.
  void give_back() const;
  // Stops this process as Ctrl-Z does, with `group_too` all of its group, and returns when it was
  // continued. False: it was not stopped, because no shell could continue it (an orphaned process
  // group, setpgid(2)) or because the caller ignores SIGTSTP.
  bool stop_here(bool group_too = false) const;
  // Dies by `number`, without a core dump; returns if that signal does not kill us (pid 1,
  // ignored).
  void die_by(int number) const;

 private:
  Signals() = default;
  UniqueFd fd_;
  sigset_t callers_mask_{};
  bool callers_ignored_chld_ = false;
};

}  // namespace dlock
