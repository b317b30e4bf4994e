// SPDX-License-Identifier: MIT
#include "sys/child.hpp"

#include "sys/after_fork.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace dlock {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    out.push_back(const_cast<char*>(text.c_str()));  // NOLINT
  out.push_back(nullptr);
  return out;
}

std::optional<std::string> read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

// Our children, by the list the kernel keeps (proc(5), task/[tid]/children); nothing if it keeps
// none.
std::optional<std::vector<pid_t>> children() {
  const auto list = read_file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  if (!list) return {};
  std::vector<pid_t> pids;
  const char* at = list->data();
  const char* const end = at + list->size();
  while (at < end) {
    pid_t pid = 0;
    const auto [next, status] = std::from_chars(at, end, pid);
    if (status == std::errc()) pids.push_back(pid);
    at = next + 1;
  }
  return pids;
}

// proc(5), stat: pid (comm) state ppid pgrp …; comm may hold anything, so look from its last ")".
bool runs_in_group(const std::string& stat, pid_t group) {
  const std::size_t comm_end = stat.rfind(')');
  if (comm_end == std::string::npos) return false;
  char state = 0;
  int parent = 0;
  int pgrp = 0;
  if (std::sscanf(stat.c_str() + comm_end + 1, " %c %d %d", &state, &parent, &pgrp) != 3)
    return false;
  return pgrp == group && state != 'Z' && state != 'X';
}

bool any_process_in_group(pid_t group) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = read_file("/proc/" + name + "/stat");
    if (stat && runs_in_group(*stat, group)) return true;
  }
  return false;
}

}  // namespace

Result<Child> Child::prepare() {
  Child child;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error{Errc::system, std::string("cannot make a pipe: ") + std::strerror(errno)};
  }
  child.error_in_.reset(ends[0]);
  child.error_out_.reset(ends[1]);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return child;
}

Result<void> Child::start(const ChildSpec& spec, const Signals& signals) {
  const auto words = pointers(spec.words);
  const auto environment = pointers(spec.environment);
  const AfterFork order{.words = words.data(),
                        .environment = environment.data(),
                        .signals = &signals,
                        .parent = ::getpid(),
                        .terminal = spec.terminal,
                        .error_pipe = error_out_.get()};
  const pid_t pid = ::fork();
  if (pid == 0) become_child(order);
  if (pid < 0) {
    return Error{Errc::system, std::string("cannot start a process: ") + std::strerror(errno)};
  }
  ::setpgid(pid, pid);  // both sides do it: whoever comes first, the group is there
  pid_ = pid;
  error_out_.reset();
  return {};
}

// True: we may have children besides the command.
bool Child::reap_adopted() const {
  const auto all = children();
  if (!all) return true;
  for (const pid_t pid : *all) {
    if (pid != pid_) ::waitpid(pid, nullptr, WNOHANG);
  }
  return all->size() > 1;
}

ChildNews Child::news() {
  if (!started() || ended_) {
    reap_adopted();
    return {};
  }
  siginfo_t info{};
  constexpr int k_look = WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, k_look) != 0 || info.si_pid == 0) {
    reap_adopted();
    return {};
  }
  if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
    ended_ = true;
    return {.kind = ChildNews::Kind::ended,
            .by_signal = info.si_code != CLD_EXITED,
            .value = info.si_status};
  }
  // A stop or its end: taken for good, or it would be told again.
  siginfo_t taken{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &taken, WSTOPPED | WCONTINUED | WNOHANG);
  return {
      .kind = info.si_code == CLD_CONTINUED ? ChildNews::Kind::continued : ChildNews::Kind::stopped,
      .value = info.si_status};
}

int Child::exec_error() const {
  int error = 0;
  const ssize_t n = ::read(error_in_.get(), &error, sizeof error);
  return n == static_cast<ssize_t>(sizeof error) ? error : 0;
}

bool Child::group_alive() const {
  // Whoever of the group outlived its parent is our child now. No child but the dead leader:
  // nobody.
  return reap_adopted() && any_process_in_group(pid_);
}

void Child::signal_group(int number, bool wake) const {
  if (!started()) return;
  ::kill(-pid_, number);
  if (wake) ::kill(-pid_, SIGCONT);
}

void Child::reap() {
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace dlock
