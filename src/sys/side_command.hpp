// SPDX-License-Identifier: MIT
// SideCommand: a command that runs beside a run, and on which nothing depends. It must be started
// from the main thread.
//
// dlock forks a watcher, and the watcher forks the command, so that the time limit holds even if
// dlock is busy or ends first. The watcher has a session of its own, and the command a process
// group of its own in it. Neither has a descriptor of dlock besides stderr, so neither can keep a
// lock, a connection or a pipe open.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/signals.hpp"
#include "sys/unique_fd.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace dlock {

struct SideSpec {
  std::vector<std::string> words;        // argv; the program is found by PATH
  std::vector<std::string> environment;  // all of it, as "NAME=value"
  std::string input;                     // all of its standard input; at most PIPE_BUF bytes
};

class SideCommand {
 public:
  // After k_limit the command's group gets TERM, and after k_grace more it gets KILL.
  static constexpr Duration k_limit = std::chrono::seconds(10);
  static constexpr Duration k_grace = std::chrono::seconds(1);

  // Errc::system: the watcher cannot be forked. What goes wrong later is told by trouble().
  static Result<SideCommand> start(const SideSpec& spec, const Signals& signals);

  int fd() const { return report_.get(); }  // readable when the command has ended
  // Returns what went wrong, as the end of a sentence; empty: nothing, or the command still runs.
  std::string trouble() const;

 private:
  explicit SideCommand(UniqueFd report) : report_(std::move(report)) {}
  UniqueFd report_;  // the watcher writes here what went wrong, and closes it at the end
};

}  // namespace dlock
