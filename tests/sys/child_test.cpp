// SPDX-License-Identifier: MIT
// Child with real processes. Each group of processes belongs to a process of its own (forked.hpp).
#include "sys/child.hpp"

#include "sys/forked.hpp"
#include "sys/process_table.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/temp_dir.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::forked;
using test::TempDir;

namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

// A child with all that it needs; for use within forked().
struct Family {
  explicit Family(ChildSpec spec)
      : signals(std::move(*Signals::take_over())), child(std::move(*Child::prepare())) {
    if (spec.environment.empty()) spec.environment = {"PATH=/usr/bin:/bin"};
    const auto started = child.start(spec, signals);
    if (!started) failure = started.error().text;
  }

  // Returns how the child ended, as "exit 3" or "signal 15".
  std::string end() {
    if (!failure.empty()) return failure;
    for (int i = 0; i < 1000; ++i) {
      const ChildChange change = child.next_change();
      if (change.kind == ChildChange::Kind::ended)
        return (change.by_signal ? "signal " : "exit ") + std::to_string(change.value);
      pollfd wait{.fd = signals.fd(), .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, 10);
      while (signals.next()) {
      }
    }
    return "no end";
  }

  bool eventually_alone() {
    for (int i = 0; i < 1000; ++i) {
      if (!child.group_alive()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  Signals signals;
  Child child;
  std::string failure;
};

std::string end_of(std::vector<std::string> words) {
  return forked([&] { return Family({.words = words, .environment = {}}).end(); });
}

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

bool wait_for_file(const std::string& path) {
  for (int i = 0; i < 1000; ++i) {
    if (!contents(path).empty()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

std::string number_of(bool value) {
  return value ? "yes" : "no";
}

}  // namespace

TEST_CASE("child: its status and its signal are reported as they are") {
  CHECK(end_of(shell("exit 0")) == "exit 0");
  CHECK(end_of(shell("exit 255")) == "exit 255");
  CHECK(end_of(shell("kill -TERM $$")) == "signal 15");
  CHECK(end_of(shell("kill -KILL $$")) == "signal 9");
  CHECK(end_of(shell("exit 143")) == "exit 143");  // not a death by TERM
}

TEST_CASE("child: its end is reported once") {
  CHECK(forked([] {
          Family family({.words = shell("exit 4"), .environment = {}});
          const std::string end = family.end();
          return end + ", again: " +
                 number_of(family.child.next_change().kind != ChildChange::Kind::none);
        }) == "exit 4, again: no");
}

TEST_CASE("child: an exec that fails gives its errno") {
  const TempDir dir;
  std::ofstream(dir.path() + "/plain") << "#!/bin/sh\n";
  const auto error_of = [](const std::string& word) {
    return forked([&] {
      Family family({.words = {word}, .environment = {}});
      family.end();
      return std::to_string(family.child.exec_error());
    });
  };
  CHECK(error_of("no-such-command-here") == std::to_string(ENOENT));
  CHECK(error_of(dir.path() + "/plain") == std::to_string(EACCES));
  CHECK(error_of(dir.path()) == std::to_string(EACCES));
  CHECK(error_of("/bin/true") == "0");
  CHECK(error_of("") == std::to_string(ENOENT));
}

// dlock may be frozen between its look at the clock and the exec. This test disables the guard,
// which would kill the command in that case.
TEST_CASE("child: a command whose deadline has passed before its exec is not run") {
  const TempDir dir;
  const std::string file = dir.path() + "/ran";
  CHECK(forked([&]() -> std::string {
          const Signals signals = std::move(*Signals::take_over());
          Child child = std::move(*Child::prepare());
          if (!child.start_guard()) return "no guard";
          const auto guard = ChildList().look();
          if (!guard || guard->size() != 1) return "which one is the guard?";
          ::kill(guard->front(), SIGSTOP);
          siginfo_t stopped{};
          ::waitid(P_PID, static_cast<id_t>(guard->front()), &stopped, WSTOPPED | WNOWAIT);
          const ChildSpec spec{.words = shell("echo yes > " + file),
                               .environment = {"PATH=/usr/bin:/bin"},
                               .kill_at = BootClock::now()};
          if (!child.start(spec, signals)) return "not started";
          siginfo_t ended{};
          ::waitid(P_PID, static_cast<id_t>(child.group()), &ended, WEXITED | WNOWAIT);
          return std::strerror(child.exec_error());
        }) == std::strerror(ETIME));
  CHECK(contents(file) == "");
}

TEST_CASE("child: words and environment arrive byte for byte, and nothing else") {
  const TempDir dir;
  const std::string file = dir.path() + "/out";
  const std::string odd = "a b\n\xff\x01'\"$x*";
  CHECK(forked([&] {
          return Family({.words = {"/bin/sh",
                                   "-c",
                                   "cat /proc/$$/environ > \"$1\"; shift; "
                                   "printf '<%s>' \"$@\" >> \"$FILE\"",
                                   "sh",
                                   file,
                                   odd,
                                   "",
                                   "--"},
                         .environment = {"PATH=/bin:/usr/bin", "FILE=" + file, "ODD=" + odd}})
              .end();
        }) == "exit 0");
  const std::string expected = std::string("PATH=/bin:/usr/bin") + '\0' + "FILE=" + file + '\0' +
                               "ODD=" + odd + '\0' + "<" + odd + "><><-->";
  CHECK(contents(file) == expected);
}

TEST_CASE("child: it has a group of its own and no descriptor of dlock") {
  const TempDir dir;
  int inheritable = 0;  // what our own caller left open
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++inheritable;
  }
  const std::string file = dir.path() + "/out";
  CHECK(forked([&] {
          Family family({.words = shell("cut -d' ' -f5 /proc/$$/stat > " + file + "; echo $$ >> " +
                                        file + "; ls /proc/self/fd | wc -l >> " + file),
                         .environment = {}});
          return family.end();
        }) == "exit 0");
  std::istringstream lines(contents(file));
  long group = 0;
  long pid = 0;
  int descriptors = 0;
  lines >> group >> pid >> descriptors;
  CHECK(group == pid);
  CHECK(descriptors == inheritable + 1);  // and the directory that ls reads
}

TEST_CASE("child: sockets and a watchdog that systemd gave to dlock are the command's") {
  CHECK(forked([] {
          const std::string us = std::to_string(::getpid());
          Family family({.words = shell("echo $LISTEN_PID | grep -qx $$ || exit 1; "
                                        "echo $WATCHDOG_PID | grep -qx $$ || exit 2; "
                                        "exit ${LISTEN_PIDFDID:-7}"),
                         .environment = {"PATH=/usr/bin:/bin",
                                         "LISTEN_PID=" + us,
                                         "LISTEN_PIDFDID=1",
                                         "WATCHDOG_PID=" + us}});
          return family.end();
        }) == "exit 7");
  CHECK(forked([] {
          Family family({.words = shell("exit $((LISTEN_PID + LISTEN_PIDFDID + WATCHDOG_PID))"),
                         .environment = {"LISTEN_PID=1", "LISTEN_PIDFDID=2", "WATCHDOG_PID=4"}});
          return family.end();
        }) == "exit 7");
}

TEST_CASE("child: a background process keeps its group alive, until the last one is gone") {
  const TempDir dir;
  CHECK(forked([&] {
          Family family({.words = shell("sleep 60 & exit 5"), .environment = {}});
          std::string text = family.end();
          text += ", alive: " + number_of(family.child.group_alive());
          family.child.signal_group(SIGTERM, true);
          return text + ", gone: " + number_of(family.eventually_alone());
        }) == "exit 5, alive: yes, gone: yes");
}

TEST_CASE("child: a child without other processes ends together with its group") {
  CHECK(forked([] {
          Family family({.words = shell("exit 0"), .environment = {}});
          const std::string end = family.end();
          return end + ", alive: " + number_of(family.child.group_alive());
        }) == "exit 0, alive: no");
}

TEST_CASE("child: a signal reaches every process of the group, stopped ones too") {
  const TempDir dir;
  const std::string file = dir.path() + "/pids";
  CHECK(forked([&] {
          Family family(
              {.words = shell("sleep 61 & sleep 62 & kill -STOP $!; "
                              "until grep -q '^State:.T' /proc/$!/status; do sleep 0.02; done; "
                              "echo $! > " +
                              file + "; wait"),
               .environment = {}});
          if (!wait_for_file(file)) return std::string("not started");
          family.child.signal_group(SIGTERM, true);
          const std::string end = family.end();
          return end + ", gone: " + number_of(family.eventually_alone());
        }) == "signal 15, gone: yes");
}

TEST_CASE("child: adopted processes are reaped, so that no zombies are left") {
  CHECK(forked([] {
          Family family({.words = shell("(sh -c 'sleep 0.05 & exit 0' &) ; sleep 0.3; exit 0"),
                         .environment = {}});
          std::string text = family.end();
          text += ", alone: " + number_of(family.eventually_alone());
          siginfo_t info{};
          bool any = true;  // the guard may need a while to die, on a busy machine
          for (int i = 0; i < 100 && any; ++i) {
            family.child.reap();
            any = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
          }
          return text + ", children left: " + number_of(any);
        }) == "exit 0, alone: yes, children left: no");
}

TEST_CASE("child: a process that left the group does not keep it alive") {
  const TempDir dir;
  const std::string left = dir.path() + "/left";
  CHECK(forked([&] {
          Family family(
              {.words = shell("setsid sh -c 'touch " + left + "; exec sleep 5' & until [ -e " +
                              left + " ]; do sleep 0.02; done; exit 0"),
               .environment = {}});
          std::string text = family.end();
          text += ", alive: " + number_of(family.child.group_alive());
          return text;
        }) == "exit 0, alive: no");
}

TEST_CASE("child: each stop and each continuation is reported once") {
  CHECK(forked([] {
          // No shell: one that is stopped between vfork and exec does not look stopped.
          Family family({.words = {"sleep", "60"}, .environment = {}});
          family.child.signal_group(SIGSTOP);
          std::string text;
          for (int i = 0; i < 1000 && text.empty(); ++i) {
            const ChildChange change = family.child.next_change();
            if (change.kind == ChildChange::Kind::stopped) text = "stopped";
            std::this_thread::sleep_for(10ms);
          }
          if (text.empty()) {  // say how it stands instead
            text = contents("/proc/" + std::to_string(family.child.group()) + "/stat");
          }
          if (family.child.next_change().kind != ChildChange::Kind::none) text += " twice";
          family.child.signal_group(SIGCONT);
          for (int i = 0; i < 1000 && text.find("cont") == std::string::npos; ++i) {
            if (family.child.next_change().kind == ChildChange::Kind::continued)
              text += ", continued";
            std::this_thread::sleep_for(10ms);
          }
          family.child.signal_group(SIGKILL);
          return text + ", " + family.end();
        }) == "stopped, continued, signal 9");
}

TEST_CASE("child: it has the signal mask and dispositions of dlock's caller") {
  const TempDir dir;
  const std::string file = dir.path() + "/out";
  CHECK(forked([&] {
          sigset_t blocked;
          ::sigemptyset(&blocked);
          ::sigaddset(&blocked, SIGUSR2);
          ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
          ::signal(SIGHUP, SIG_IGN);
          ::signal(SIGCHLD, SIG_IGN);
          // dd keeps mask and dispositions as they are; a shell would not.
          return Family({.words = {"dd", "if=/proc/self/status", "of=" + file, "status=none"},
                         .environment = {"PATH=/bin:/usr/bin"}})
              .end();
        }) == "exit 0");
  const std::string status = contents(file);
  CHECK(status.find("SigBlk:\t0000000000000800") != std::string::npos);  // USR2 only
  const std::size_t at = status.find("SigIgn:\t");
  REQUIRE(at != std::string::npos);
  const auto ignored = std::stoull(status.substr(at + 8, 16), nullptr, 16);
  CHECK((ignored & (1ULL << (SIGHUP - 1))) != 0);
  CHECK((ignored & (1ULL << (SIGCHLD - 1))) != 0);
  CHECK((ignored & (1ULL << (SIGTERM - 1))) == 0);
}

// The guard is in the group that it guards. Before, it is in ours, which forked() kills with us.
bool guard_joined(pid_t group) {
  for (int i = 0; i < 1000; ++i) {
    const auto all = ChildList().look().value_or(std::vector<pid_t>{});
    if (std::all_of(
            all.begin(), all.end(), [group](pid_t pid) { return ::getpgid(pid) == group; })) {
      return true;
    }
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

// Checks that the process whose pid the shell command writes to `file` is killed together with the
// process that started the command.
void check_that_it_dies_with_us(const std::string& command, const std::string& file) {
  CHECK(forked([&]() -> std::string {
          Family family({.words = shell(command), .environment = {}});
          if (!wait_for_file(file)) return "not started";
          if (!guard_joined(family.child.group())) return "no guard";
          ::kill(::getpid(), SIGKILL);
          return "?";
        }) == "<died: 9>");
  const auto pid = static_cast<pid_t>(std::stol(contents(file)));
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
    gone = stat.empty() || stat.find(") Z ") != std::string::npos;
    std::this_thread::sleep_for(10ms);
  }
  CHECK(gone);
}

TEST_CASE("child: it dies with the process that started it") {
  const TempDir dir;
  const std::string file = dir.path() + "/pid";
  check_that_it_dies_with_us("echo $$ > " + file + "; exec sleep 60", file);
}

// The guard does this: nothing else reaches a process that the command has started.
TEST_CASE("P01: all of its group dies with the process that started it") {
  const TempDir dir;
  const std::string file = dir.path() + "/pid";
  check_that_it_dies_with_us("trap '' TERM HUP; sleep 60 & echo $! > " + file + "; wait", file);
}

}  // namespace dlock
