// SPDX-License-Identifier: MIT
#include "core/signal_policy.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace dlock {

TEST_CASE("the signals that end a waiting process") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU})
    CHECK(use_of(number, /*has_command=*/false) == SignalUse::deliver);
  for (const int number : {SIGURG, SIGWINCH, SIGTTIN, SIGTTOU, SIGPIPE})
    CHECK(use_of(number, /*has_command=*/false) == SignalUse::nothing);
}

TEST_CASE("a command gets every signal but those of our own children, stops and pipes") {
  for (int number = 1; number < NSIG; ++number) {
    const bool ours =
        number == SIGCHLD || number == SIGCONT || number == SIGTSTP || number == SIGPIPE;
    CHECK((use_of(number, /*has_command=*/true) == SignalUse::deliver) == !ours);
  }
}

}  // namespace dlock
