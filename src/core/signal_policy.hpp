// SPDX-License-Identifier: MIT
// What dlock does with a signal that it receives: the one place where signals are judged.
#pragma once

#include <csignal>

namespace dlock {

enum class SignalUse {
  nothing,
  child_changed,  // a child ended, stopped or continued
  continued,      // this process was continued
  stop,           // the user wants the job stopped, by Ctrl-Z or kill -TSTP
  deliver,        // to the machine: ends a wait, and goes to a running command
};

// `has_command`: a command or its remains run, and get every signal that the user may mean for
// them. Otherwise signals that by default do not end a process mean nothing here (signal(7)).
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

// The user wants the command to end: a second such signal during the grace kills it.
constexpr bool asks_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT;
}

// Whether CONT follows the signal, so that a stopped command can act on it, as a shell's kill(1)
// does for a stopped job.
constexpr bool wakes(int signal) {
  return asks_to_end(signal) || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace dlock
