// SPDX-License-Identifier: MIT
// The guard alone, with a scripted parent: a process that starts it, sends it the orders of dlock,
// and then dies, stops or stays silent. The tests look at a command in the guarded group to see
// what the guard does.
#include "sys/guard.hpp"

#include "sys/forked.hpp"
#include "sys/process_table.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <thread>

namespace dlock {

using namespace std::chrono_literals;
using test::forked;

namespace {

// Starts a process in a group of its own that sleeps until it is killed.
pid_t sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::poll(nullptr, 0, 30000);
    ::_exit(0);
  }
  ::setpgid(pid, pid);
  return pid;
}

// Returns how a child of ours has ended, as "signal 9", or that it lives.
std::string fate_of(pid_t pid, Duration patience = 10s) {
  const Time end = BootClock::now() + patience;
  do {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) == pid) {
      return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "exit";
    }
    std::this_thread::sleep_for(2ms);
  } while (BootClock::now() < end);
  return "lives";
}

std::string eventually(const std::function<std::string()>& look, const std::string& wanted) {
  std::string seen;
  for (int i = 0; i < 1000 && (seen = look()) != wanted; ++i)
    std::this_thread::sleep_for(5ms);
  return seen;
}

// A parent that has started a guard for a sleeper and sent the first order, as dlock does.
struct Guarded {
  explicit Guarded(Time kill_at) : group(sleeper()) {
    if (!guard.start()) return;
    send_order(guard.line(), {.group = group, .kill_at = kill_at});
    guard.note_order({.group = group, .kill_at = kill_at});
  }
  bool joined() const { return ::getpgid(guard.pid()) == group; }
  std::string eventually_joined() {
    return eventually([this] { return joined() ? "joined" : "apart"; }, "joined");
  }
  // Returns whether the guard has answered the newest order: a guard that has not run yet would be
  // replaced.
  bool answered() const {
    pollfd answer{.fd = guard.line(), .events = POLLIN, .revents = 0};
    return ::poll(&answer, 1, 10000) == 1;
  }
  Guard guard;
  pid_t group;
};

}  // namespace

TEST_CASE("P04: a guard kills the group at the deadline") {
  CHECK(forked([] {
          const Time kill_at = BootClock::now() + 300ms;
          const Guarded it(kill_at);
          const std::string fate = fate_of(it.group);
          return fate + (BootClock::now() >= kill_at ? " in time" : " too early");
        }) == "signal 9 in time");
}

TEST_CASE("P01: a guard kills the group when the other end is closed, without a deadline") {
  CHECK(forked([] {
          Guarded it(Time::max());
          it.eventually_joined();
          it.guard = Guard();  // closes our end, as our death would
          return fate_of(it.group);
        }) == "signal 9");
}

TEST_CASE(
    "P02: an order that dlock sent before its death counts, though the guard reads it later") {
  CHECK(forked([] {
          const pid_t group = sleeper();  // before there is a line that it could inherit
          Guard guard;
          if (!guard.start()) return std::string("no guard");
          ::kill(guard.pid(), SIGSTOP);
          siginfo_t stopped{};  // or it may wake between the order and our end
          ::waitid(P_PID, static_cast<id_t>(guard.pid()), &stopped, WSTOPPED | WNOWAIT);
          send_order(guard.line(), {.group = group, .kill_at = Time::max()});
          const pid_t pid = guard.pid();
          guard = Guard();
          ::kill(pid, SIGCONT);
          return fate_of(group);
        }) == "signal 9");
}

TEST_CASE("the guard obeys a deadline that was moved in time") {
  CHECK(forked([] {
          const Time first = BootClock::now() + 5s;
          Guarded it(first);
          if (!it.answered()) return std::string("deaf");
          while (BootClock::now() < first + 300ms) {
            const std::string trouble = it.guard.set_deadline(BootClock::now() + 30s);
            if (!trouble.empty()) return trouble;
            if (!it.answered()) return std::string("deaf");
            std::this_thread::sleep_for(300ms);
          }
          if (fate_of(it.group, 1s) != "lives") return std::string("killed");
          // And one that is brought forward.
          it.guard.set_deadline(BootClock::now());
          return fate_of(it.group);
        }) == "signal 9");
}

TEST_CASE("P07: a guard that was killed or stopped is replaced, and the new one knows its orders") {
  for (const int number : {SIGKILL, SIGSTOP}) {
    CAPTURE(number);
    CHECK(forked([number] {
            Guarded it(Time::max());
            it.eventually_joined();
            const pid_t first = it.guard.pid();
            ::kill(first, number);
            const std::string wanted = number == SIGKILL
                                           ? "guard process restarted: it was killed"
                                           : "guard process restarted: it was stopped";
            const auto said = eventually([&] { return it.guard.look(); }, wanted);
            if (said != wanted) return "said: " + said;
            if (it.guard.pid() == first) return std::string("the same");
            if (it.eventually_joined() != "joined") return std::string("outside the group");
            it.guard.set_deadline(BootClock::now());
            return fate_of(it.group);
          }) == "signal 9");
  }
}

TEST_CASE("a guard that dies before there is a command is not replaced, and no event is logged") {
  CHECK(forked([] {
          Guard guard;
          if (!guard.start()) return std::string("no guard");
          ::kill(guard.pid(), SIGKILL);
          for (int i = 0; i < 1000 && guard.started(); ++i) {
            if (const auto said = guard.look(); !said.empty()) return said;
            std::this_thread::sleep_for(5ms);
          }
          return std::string(guard.started() ? "started" : "none");
        }) == "none");
}

TEST_CASE("a guard that does not answer is replaced when the deadline moves next") {
  CHECK(forked([] {
          Guarded it(Time::max());
          it.eventually_joined();
          ::kill(it.guard.pid(), SIGSTOP);  // and nobody looks at SIGCHLD
          siginfo_t stopped{};
          ::waitid(P_PID, static_cast<id_t>(it.guard.pid()), &stopped, WSTOPPED | WNOWAIT);
          // The first order may find the answer to the one before; the second does not.
          const Time far = BootClock::now() + 20s;
          std::string said = it.guard.set_deadline(far);
          if (said.empty()) said = it.guard.set_deadline(far);
          if (said != "guard process restarted: it does not answer") return "said: " + said;
          if (it.eventually_joined() != "joined") return std::string("outside the group");
          it.guard.set_deadline(BootClock::now());
          return fate_of(it.group);
        }) == "signal 9");
}

TEST_CASE("signals to the group do not touch the guard") {
  CHECK(forked([] {
          Guarded it(Time::max());
          if (!it.answered()) return std::string("deaf");
          sigset_t usual;  // without two that belong to the C library
          ::sigfillset(&usual);
          ::sigdelset(&usual, SIGKILL);
          ::sigdelset(&usual, SIGSTOP);
          for (int number = 1; number < NSIG; ++number) {
            if (::sigismember(&usual, number) == 1) ::kill(it.guard.pid(), number);
          }
          if (const auto said = it.guard.set_deadline(BootClock::now()); !said.empty()) return said;
          return fate_of(it.group);
        }) == "signal 9");
}

TEST_CASE("P39: a guard has a process name of its own and its group, and not the words of dlock") {
  CHECK(forked([] {
          Guarded it(Time::max());
          if (!it.answered()) return std::string("deaf");
          const std::string process = std::to_string(it.guard.pid());
          const auto read = [&process](const std::string& file) {
            std::string text = read_process_file(process + "/" + file).value_or("");
            std::erase(text, '\0');
            return text;
          };
          const std::string shown = "lease-guard of process group " + std::to_string(it.group);
          if (read("comm") != "lease-guard\n") return read("comm");
          if (!shown.starts_with(read("cmdline"))) return read("cmdline");
          // Where the arguments had too little room, the rest is here.
          return shown.ends_with(read("environ")) ? "as wanted" : read("environ");
        }) == "as wanted");
}

TEST_CASE("a guard that is dismissed ends, and its group lives on") {
  CHECK(forked([] {
          Guarded it(Time::max());
          it.eventually_joined();
          const pid_t pid = it.guard.pid();
          // Each call waits as long as a KILL takes at most; a busy machine may need several calls.
          for (int i = 0; i < 100 && it.guard.started(); ++i)
            it.guard.reap();
          if (::kill(pid, 0) == 0) return std::string("still there");
          return fate_of(it.group, 0s);
        }) == "lives");
}

TEST_CASE("S19: a guard without orders kills no process when dlock dies") {
  CHECK(forked([] {
          Guard guard;
          if (!guard.start()) return std::string("no guard");
          const pid_t pid = guard.pid();
          guard = Guard();
          return fate_of(pid);  // it is in our group: we would be dead
        }) == "exit");
}

TEST_CASE("S19: a guard whose group has ended kills no process") {
  CHECK(forked([] {
          Guard guard;
          if (!guard.start()) return std::string("no guard");
          const pid_t gone = sleeper();
          ::kill(gone, SIGKILL);
          ::waitpid(gone, nullptr, 0);
          send_order(guard.line(), {.group = gone, .kill_at = BootClock::now()});
          guard.note_order({.group = gone, .kill_at = BootClock::now()});
          // Had it killed "its" group without having joined, that would be ours: we would be dead.
          return eventually([&] { return guard.look(); },
                            "guard process gave up; the next renewal starts another");
        }) == "guard process gave up; the next renewal starts another");
}

}  // namespace dlock
