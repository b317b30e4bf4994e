// SPDX-License-Identifier: MIT
#include "sys/guard.hpp"

#include "base/errno_text.hpp"
#include "sys/after_fork.hpp"
#include "sys/deadline_timer.hpp"
#include "sys/pidfd.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace dlock {

namespace {

constexpr int k_reap_tries = 100;  // one try each millisecond

}  // namespace

Result<void> Guard::start(int cgroup_kill) {
  const auto failed = [](int error) {
    return Error{Errc::system, "cannot start the guard: " + errno_text(error)};
  };
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return failed(errno);
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const DeadlineTimer timer;
  if (timer.error() != 0) return failed(timer.error());
  const pid_t pid = bare_fork();
  if (pid == 0) {
    become_guard({.line = theirs.get(),
                  .dlocks_end = ours.get(),
                  .timer = timer.fd(),
                  .cgroup_kill = cgroup_kill});
  }
  if (pid < 0) return failed(errno);
  line_ = std::move(ours);
  pid_ = pid;
  cgroup_kill_ = cgroup_kill;
  return {};
}

std::string Guard::set_deadline(Time kill_at) {
  if (dismissed_) return {};
  const bool alive = started() && answered();
  last_.kill_at = kill_at;
  if (!started()) return replace("none was running");
  if (!alive) return replace("it does not answer");
  if (!send_order(line_.get(), last_)) return replace("the deadline could not be sent");
  return {};
}

std::string Guard::look() {
  if (dismissed_ || !started()) return {};
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  if (::waitid(P_PID, id, &info, WEXITED | WSTOPPED | WNOHANG) != 0 || info.si_pid == 0) return {};
  if (info.si_code == CLD_STOPPED) return replace("it was stopped");
  pid_ = 0;
  // The guard exits by itself only if it cannot join the group; for now a new guard could not
  // either.
  if (info.si_code == CLD_EXITED && last_.group != 0)
    return "guard process gave up; the next renewal starts another";
  return replace("it was killed");
}

std::string Guard::replace(const std::string& why) {
  // A frozen guard dies only when it thaws. This does not wait for the death: the old guard is
  // reaped later, like adopted children.
  if (started()) ::kill(pid_, SIGKILL);
  pid_ = 0;
  line_.reset();
  if (last_.group == 0) return {};  // no command yet: Child::start() will start a guard
  const auto started_again = start(cgroup_kill_);
  if (!started_again) return "guard process lost: " + why + "; " + started_again.error().text;
  send_order(line_.get(), last_);
  return "guard process restarted: " + why;
}

// Returns whether the guard has sent back the newest order, which it got a third of a lease ago.
bool Guard::answered() {
  GuardOrder answer;
  while (::recv(line_.get(), &answer, sizeof answer, MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof answer)) {
    answer_ = answer;
  }
  return answer_ == last_;
}

void Guard::dismiss() {
  if (started() && !dismissed_) ::kill(pid_, SIGKILL);
  dismissed_ = true;
}

void Guard::reap() {
  dismiss();
  end();
}

void Guard::end() {
  if (started() && !dismissed_) ::kill(pid_, SIGKILL);
  // Waits for the death of the guard, but not for long: a frozen process dies only when it thaws.
  UniqueFd death;  // empty on an old kernel: then this looks every millisecond
  for (int i = 0; started() && i < k_reap_tries; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = 0;
      return;
    }
    if (!death) death.reset(::pidfd_open(pid_, 0));
    pollfd until{death.get(), POLLIN, 0};
    ::poll(&until, 1, 1);
  }
}

}  // namespace dlock
