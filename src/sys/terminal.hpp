// SPDX-License-Identifier: MIT
// Terminal: gives the terminal to the child's process group and takes it back, as a shell with job
// control does (tcsetpgrp(3)). The caller has SIGTTOU blocked (Signals), so these calls cannot stop
// us.
#pragma once

#include "sys/unique_fd.hpp"

#include <sys/types.h>
#include <termios.h>

#include <cstddef>
#include <optional>

namespace dlock {

// Returns the number of columns of the terminal at `fd`; 80 if it is unknown.
std::size_t terminal_columns(int fd);

class Terminal {
 public:
  // Returns the terminal at stdin; nullopt if stdin is not the terminal of our session.
  static std::optional<Terminal> of_stdin();
  // Returns /dev/tty, for a command that reads the terminal although its stdin is something else.
  static std::optional<Terminal> of_session();

  int fd() const { return own_ ? own_.get() : 0; }
  // Whether our own group is in the foreground now.
  bool is_ours() const;
  // Whether stdout is the terminal too. Then the command is interactive and gets the terminal at
  // once. If stdout is something else (`dlock run … | less`), the command gets the terminal only
  // when it tries to use it.
  bool stdout_too() const { return stdout_too_; }
  bool given() const { return given_; }

  void note_given() { given_ = true; }  // the child took the terminal itself, before exec
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
