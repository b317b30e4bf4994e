// SPDX-License-Identifier: MIT
// Signals. Each test runs in a process of its own, because it changes the process.
#include "sys/signals.hpp"

#include "sys/forked.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace dlock {

using test::forked;

namespace {

void ignore(int number) {
  ::signal(number, SIG_IGN);
}

std::string collected(const Signals& signals) {
  std::string all;
  while (const auto number = signals.next())
    all += (all.empty() ? "" : " ") + std::to_string(*number);
  return all.empty() ? "none" : all;
}

// Returns the lines about signals in /proc/self/status.
std::string signal_lines() {
  std::ifstream status("/proc/self/status");
  std::string all;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:") || line.starts_with("SigIgn:")) all += line + " ";
  }
  return all;
}

// Returns how a grandchild that runs `act` ends: "exit 3" or "signal 15".
template <class Act>
std::string end_of(const Act& act) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    act();
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

TEST_CASE("signals arrive as data and do not end the process") {
  CHECK(forked([] {
          const auto signals = Signals::take_over();
          if (!signals) return signals.error().text;
          ::raise(SIGTERM);
          ::raise(SIGUSR1);
          const std::string all = collected(*signals);
          return all + ", then " + collected(*signals);
        }) == "10 15, then none");
}

TEST_CASE("every signal that can be blocked is blocked, except those of a crash") {
  CHECK(forked([] {
          const auto signals = Signals::take_over();
          if (!signals) return signals.error().text;
          sigset_t mask;
          ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
          std::string open;
          for (int number = 1; number < 32; ++number) {
            if (number == SIGKILL || number == SIGSTOP) continue;
            if (::sigismember(&mask, number) == 0) open += std::to_string(number) + " ";
          }
          return open;
        }) == "4 5 6 7 8 11 31 ");
}

TEST_CASE("a signal that the caller ignores stays ignored and is not collected") {
  CHECK(forked([] {
          ignore(SIGHUP);
          ignore(SIGTERM);
          const auto signals = Signals::take_over();
          if (!signals) return signals.error().text;
          ::raise(SIGTERM);
          ::raise(SIGHUP);
          const std::string alone = collected(*signals);
          ::raise(SIGHUP);
          ::raise(SIGINT);
          return alone + ", then " + collected(*signals);
        }) == "none, then 2");
}

TEST_CASE("an ignored SIGCHLD is collected all the same, and statuses are kept") {
  CHECK(forked([] {
          ignore(SIGCHLD);
          const auto signals = Signals::take_over();
          if (!signals) return signals.error().text;
          const std::string end = end_of([] { ::_exit(3); });
          return end + ", " + collected(*signals);
        }) == "exit 3, 17");
}

TEST_CASE("the child has the signal mask and dispositions of the caller") {
  const std::string result = forked([] {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR2);
    ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
    ignore(SIGHUP);
    ignore(SIGCHLD);
    const std::string before = signal_lines();
    const auto signals = Signals::take_over();
    if (!signals) return signals.error().text;
    if (signal_lines() == before) return std::string("nothing was taken over");
    signals->give_back();
    const std::string after = signal_lines();
    return before == after ? std::string("same") : before + "/ " + after;
  });
  CHECK(result == "same");
}

TEST_CASE("dying by a signal looks like it to the parent, without a core file") {
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGKILL, SIGSEGV, SIGABRT}) {
    CAPTURE(number);
    CHECK(forked([number] {
            const auto signals = Signals::take_over();
            if (!signals) return signals.error().text;
            return end_of([&] { signals->die_by(number); });
          }) == "signal " + std::to_string(number));
  }
}

TEST_CASE("dying by a signal that does not kill returns") {
  CHECK(forked([] {
          const auto signals = Signals::take_over();
          if (!signals) return signals.error().text;
          return end_of([&] { signals->die_by(SIGURG); });
        }) == "exit 99");
}

}  // namespace dlock
