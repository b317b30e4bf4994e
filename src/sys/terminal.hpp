// SPDX-License-Identifier: MIT
// Terminal: handing the terminal to the child's process group and taking it back, as a shell with
// job control does (tcsetpgrp(3)). Callers have SIGTTOU blocked (Signals), so that none of this can
// stop us.
#pragma once

#include "sys/unique_fd.hpp"

#include <sys/types.h>
#include <termios.h>

#include <cstddef>
#include <optional>

namespace dlock {

// How many columns a row of the terminal at `fd` has; 80 where that is not known.
std::size_t terminal_columns(int fd);

class Terminal {
 public:
  // Nothing if stdin is not the terminal of our session.
  static std::optional<Terminal> of_stdin();
  // /dev/tty: for a command that reads the terminal though its stdin is something else.
  static std::optional<Terminal> of_session();

  int fd() const { return own_ ? own_.get() : 0; }
  // Whether our own group is in the foreground now.
  bool is_ours() const;
  // Is stdout the terminal too? Then the command is interactive and gets the terminal at once;
  // otherwise (`dlock run … | less`) only when it tries to use it.
  bool stdout_too() const { return stdout_too_; }
  bool given() const { return given_; }

  void note_given() { given_ = true; }  // the child took it itself, before exec
  void give(pid_t group);
  // Gives the terminal back to our group; with `repair`, also resets its modes.
  void take_back(bool repair);

 private:
  static std::optional<Terminal> on(UniqueFd own);
  Terminal() = default;
  UniqueFd own_;  // /dev/tty; empty: stdin
  termios modes_{};
  bool stdout_too_ = false;
  bool given_ = false;
};

}  // namespace dlock
