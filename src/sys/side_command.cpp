// SPDX-License-Identifier: MIT
#include "sys/side_command.hpp"

#include "base/errno_text.hpp"
#include "sys/after_fork.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace dlock {

namespace {

constexpr std::string_view k_watcher_name = "dlock-notify";
constexpr int k_report = 3;  // where the watcher moves its end of the report
constexpr int k_too_slow = -1;

struct SideStart {
  char* const* words = nullptr;
  char* const* environment = nullptr;
  const Signals* signals = nullptr;
  int input = -1;
  int report = -1;
};

void tell(int what) {
  [[maybe_unused]] const auto n = ::write(k_report, &what, sizeof what);
}

[[noreturn]] void become_side_command(const SideStart& start) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // without its watcher the command would have no limit
  start.signals->give_back();
  ::execvpe(start.words[0], start.words, start.environment);
  tell(errno);
  ::_exit(127);
}

// Waits for the end of the child, but does not reap it: so its group's number is not reused.
bool ends_before(pid_t pid, Time limit) {
  sigset_t ended;
  ::sigemptyset(&ended);
  ::sigaddset(&ended, SIGCHLD);
  for (;;) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(pid);
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
      return true;
    const Duration left = limit - BootClock::now();
    if (left <= Duration::zero()) return false;
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timespec until{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
    ::sigtimedwait(&ended, nullptr, &until);
  }
}

// Only async-signal-safe calls, as in after_fork.hpp. All signals but those of a crash are blocked.
[[noreturn]] void become_watcher(const SideStart& start) {
  ::setsid();
  ::dup2(start.input, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::dup3(start.report, k_report, O_CLOEXEC);  // fails if it is there: then it has the flag
  ::close_range(k_report + 1, ~0U, 0);
  const pid_t pid = bare_fork();
  if (pid == 0) become_side_command(start);
  if (pid < 0) {
    tell(errno);
    ::_exit(1);
  }
  ::setpgid(pid, pid);
  ::prctl(PR_SET_NAME, k_watcher_name.data());
  show_as(k_watcher_name);  // after the fork: execvpe(3) reads PATH
  if (!ends_before(pid, BootClock::now() + SideCommand::k_limit)) {
    tell(k_too_slow);
    ::kill(-pid, SIGTERM);
    ::kill(-pid, SIGCONT);
    ends_before(pid, BootClock::now() + SideCommand::k_grace);
    ::kill(-pid, SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

Result<SideCommand> SideCommand::start(const SideSpec& spec, const Signals& signals) {
  const auto failed = [](int error) {
    return Error{Errc::system, "cannot be started: " + errno_text(error)};
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno);
  const UniqueFd input(ends[0]);
  UniqueFd input_end(ends[1]);
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno);
  UniqueFd report(ends[0]);
  const UniqueFd report_end(ends[1]);
  ::fcntl(report.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(input_end.get(), F_SETFL, O_NONBLOCK);
  if (::write(input_end.get(), spec.input.data(), spec.input.size()) < 0) return failed(errno);
  input_end.reset();
  const auto words = pointers(spec.words);
  const auto environment = pointers(spec.environment);
  const SideStart order{.words = words.data(),
                        .environment = environment.data(),
                        .signals = &signals,
                        .input = input.get(),
                        .report = report_end.get()};
  const pid_t pid = bare_fork();
  if (pid == 0) become_watcher(order);
  if (pid < 0) return failed(errno);
  return SideCommand(std::move(report));
}

std::string SideCommand::trouble() const {
  int what = 0;
  if (::read(report_.get(), &what, sizeof what) != static_cast<ssize_t>(sizeof what)) return "";
  if (what == k_too_slow) return "had not ended after 10s and was stopped";
  return "cannot be started: " + errno_text(what);
}

}  // namespace dlock
