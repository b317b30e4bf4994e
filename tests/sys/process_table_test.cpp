// SPDX-License-Identifier: MIT
// Looks at other processes: a dead or dying process has no environment.
#include "sys/process_table.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

namespace dlock {

namespace {

// Starts a child that executes another program with this environment, in this process group; 0: in
// one of its own.
pid_t start_with(const std::string& entry, pid_t group = ::getpgrp()) {
  std::string variable = entry;
  std::array<char*, 2> environment{variable.data(), nullptr};
  std::string word = "sleep";
  std::string time = "60";
  std::array<char*, 3> words{word.data(), time.data(), nullptr};
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setpgid(0, group) == 0) ::execve("/usr/bin/sleep", words.data(), environment.data());
    ::_exit(1);
  }
  for (int i = 0; i < 1000 && ::getpgid(pid) != (group != 0 ? group : pid); ++i)
    ::poll(nullptr, 0, 10);
  return pid;
}

}  // namespace

TEST_CASE(
    "process table: the environment of a living process is found, that of a dead one is not") {
  const pid_t pid = start_with("MARK=we-were-here");
  REQUIRE(pid > 0);
  bool found = false;
  for (int i = 0; i < 1000 && !found; ++i) {
    found = environment_has(pid, "we-were-here").value_or(false);
    ::poll(nullptr, 0, 10);
  }
  CHECK(found);
  CHECK(environment_has(pid, "we-were-elsewhere") == false);
  REQUIRE(::kill(pid, SIGKILL) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  CHECK(environment_has(pid, "we-were-here") == false);  // a zombie
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  CHECK(environment_has(pid, "we-were-here") == false);
}

TEST_CASE("process table: a process is gone when nothing of it is left, not even a zombie") {
  const pid_t pid = start_with("A=b");
  REQUIRE(pid > 0);
  CHECK_FALSE(is_gone(pid));
  REQUIRE(::kill(pid, SIGKILL) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(is_gone(pid));
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  CHECK(is_gone(pid));
}

TEST_CASE("process table: a group is empty when its last member has ended, not its leader") {
  const pid_t leader = start_with("A=b", 0);
  const pid_t member = start_with("A=b", leader);
  CHECK_FALSE(is_empty_group(leader));
  REQUIRE(::kill(leader, SIGKILL) == 0);
  REQUIRE(::waitpid(leader, nullptr, 0) == leader);
  CHECK_FALSE(is_empty_group(leader));
  REQUIRE(::kill(member, SIGKILL) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(member), &info, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(is_empty_group(leader));
  REQUIRE(::waitpid(member, nullptr, 0) == member);
  CHECK(is_empty_group(leader));
}

TEST_CASE("process table: what we may not signal, and what is no pid, is not gone") {
  for (const long number : {0L, -1L, 1L, -5L, 1L << 31, 1L << 40}) {
    CAPTURE(number);
    CHECK_FALSE(is_gone(number));
    CHECK_FALSE(is_empty_group(number));
  }
  const pid_t pid = start_with("A=b", 0);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    // EPERM, if we may become another user.
    [[maybe_unused]] const int other = ::setresuid(65534, 65534, 65534);
    ::_exit(is_gone(pid) || is_empty_group(pid) ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(stranger, &status, 0) == stranger);
  CHECK(status == 0);
  REQUIRE(::kill(pid, SIGKILL) == 0);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
}

TEST_CASE("process table: a process whose main thread has ended lives while another thread runs") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // The thread inherits this end, and runs on until the process is killed.
    std::thread([end = ends[1]] {
      [[maybe_unused]] const auto n = ::write(end, "t", 1);
      for (;;)
        ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  }
  char byte = 0;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  const auto main_thread_ended = [&] {
    const std::string stat = read_process_file(std::to_string(pid) + "/stat").value_or("");
    return stat.find(") Z ") != std::string::npos;
  };
  for (int i = 0; i < 1000 && !main_thread_ended(); ++i)
    ::poll(nullptr, 0, 10);
  CHECK(main_thread_ended());
  CHECK(living_process(pid).has_value());
  REQUIRE(::kill(pid, SIGKILL) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(living_process(pid).has_value());  // a zombie
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace dlock
