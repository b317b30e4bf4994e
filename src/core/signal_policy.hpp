// SPDX-License-Identifier: MIT
// Decides what dlock does with each signal that it receives. No other code judges signals.
#pragma once

#include <csignal>

namespace dlock {

enum class SignalUse {
  nothing,
  child_changed,  // a child ended, stopped or continued
  continued,      // this process was continued
  stop,           // the user wants the job stopped, by Ctrl-Z or kill -TSTP
  deliver,        // passed to the machine: ends a wait, or goes to the running command
};

// Returns what dlock does with the signal. `has_command`: a command or its leftovers run. They get
// every signal that the user may mean for them, except the three that dlock itself acts on (CHLD,
// CONT, TSTP). Without a command, signals whose default action does not end a process are ignored
// (signal(7)).
constexpr SignalUse use_of(int signal, bool has_command) {
  switch (signal) {
    case SIGCHLD:
      return SignalUse::child_changed;
    case SIGCONT:
      return SignalUse::continued;
    case SIGTSTP:
      return SignalUse::stop;
    case SIGPIPE:  // comes from our own writes to a closed stderr
      return SignalUse::nothing;
    case SIGURG:
    case SIGWINCH:
    case SIGTTIN:
    case SIGTTOU:
      return has_command ? SignalUse::deliver : SignalUse::nothing;
    default:
      return SignalUse::deliver;
  }
}

// Returns whether the user wants the command to end; a second such signal during the grace period
// kills it.
constexpr bool asks_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT;
}

// Returns whether the signal is followed by CONT, so that a stopped command can react, as a shell's
// kill(1) does for a stopped job.
constexpr bool wakes(int signal) {
  return asks_to_end(signal) || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace dlock
