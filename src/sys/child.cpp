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
#include <memory>

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

struct ProcessStat {
  char state = 0;
  pid_t group = 0;
  pid_t session = 0;
};

// proc(5), stat: pid (comm) state ppid pgrp session …; comm may hold anything, so look from its
// last
// ")". Nothing: the process is gone.
std::optional<ProcessStat> stat_of(const std::string& process) {
  const auto text = read_file("/proc/" + process + "/stat");
  const std::size_t comm_end = text ? text->rfind(')') : std::string::npos;
  if (comm_end == std::string::npos) return {};
  ProcessStat stat;
  int parent = 0;
  if (std::sscanf(text->c_str() + comm_end + 1,
                  " %c %d %d %d",
                  &stat.state,
                  &parent,
                  &stat.group,
                  &stat.session) != 4) {
    return {};
  }
  return stat;
}

// Belongs to the command: to its group; or, with our mark in its environment, to our session, as
// the groups of nested runs do. A daemon has made a session of its own.
bool belongs(const std::string& process,
             const ProcessStat& stat,
             pid_t group,
             const std::string& mark) {
  if (stat.state == 'Z' || stat.state == 'X') return false;
  if (stat.group == group) return true;
  if (mark.empty() || stat.session != ::getsid(0)) return false;
  const auto environment = read_file("/proc/" + process + "/environ");
  return environment && environment->find(mark) != std::string::npos;
}

// All processes that belong to the command; nothing if they cannot be looked at.
std::optional<std::vector<pid_t>> processes_of(pid_t group, const std::string& mark) {
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> proc(::opendir("/proc"), close);
  if (!proc || !stat_of("self")) return {};
  std::vector<pid_t> pids;
  while (const dirent* const entry = ::readdir(proc.get())) {
    const std::string process = entry->d_name;
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = stat_of(process);
    if (!stat || !belongs(process, *stat, group, mark)) continue;
    pid_t pid = 0;
    std::from_chars(process.data(), process.data() + process.size(), pid);
    pids.push_back(pid);
  }
  return pids;
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
  mark_ = spec.mark;
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
  // Whoever of the command outlived its parent is our child now. No child but the dead leader:
  // nobody.
  if (!reap_adopted()) return false;
  const auto left = processes_of(pid_, mark_);
  // Without a look at them they are there, until a KILL has gone to all of the group.
  return left ? !left->empty() : !kill_sent_;
}

void Child::signal_group(int number, bool wake) {
  if (!started()) return;
  if (number == SIGKILL) kill_sent_ = true;
  ::kill(-pid_, number);
  if (wake) ::kill(-pid_, SIGCONT);
  if (!ended_) return;
  for (const pid_t pid : processes_of(pid_, mark_).value_or(std::vector<pid_t>{})) {
    if (::getpgid(pid) == pid_) continue;  // has it already
    ::kill(pid, number);
    if (wake) ::kill(pid, SIGCONT);
  }
}

void Child::reap() {
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace dlock
