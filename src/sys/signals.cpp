// SPDX-License-Identifier: MIT
#include "sys/signals.hpp"

#include "base/errno_text.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>

namespace dlock {

namespace {

// The signals that our own bugs raise: if they were blocked, a crash would be hidden or would hang.
constexpr std::array k_crash_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

bool is_ignored(int number) {
  struct sigaction now {};
  return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void set_default(int number) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(number, &plain, nullptr);
}

}  // namespace

Result<Signals> Signals::take_over() {
  sigset_t ours;
  ::sigfillset(&ours);
  for (const int number : k_crash_signals)
    ::sigdelset(&ours, number);

  Signals signals;
  // If SIGCHLD stayed ignored, the kernel would reap the child and discard its status (waitid(2)).
  signals.callers_ignored_chld_ = is_ignored(SIGCHLD);
  if (signals.callers_ignored_chld_) set_default(SIGCHLD);
  const int error = ::pthread_sigmask(SIG_BLOCK, &ours, &signals.callers_mask_);
  if (error != 0) return Error{Errc::system, "cannot block signals: " + errno_text(error)};
  signals.fd_.reset(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_) {
    return Error{Errc::system, "cannot read signals: " + errno_text(errno)};
  }
  return signals;
}

std::optional<int> Signals::next() const {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    // A blocked signal arrives even if the caller ignores it, so is_ignored() is asked here. Asking
    // at the start would cost a system call for each of the 62 signals.
    if (!is_ignored(number)) return number;
  }
  return {};
}

void Signals::give_back() const {
  if (callers_ignored_chld_) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGCHLD, &ignore, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &callers_mask_, nullptr);
}

bool Signals::stop_here(bool group_too) const {
  sigset_t resumed;
  ::sigemptyset(&resumed);
  ::sigaddset(&resumed, SIGCONT);
  constexpr timespec k_at_once{};
  while (::sigtimedwait(&resumed, nullptr, &k_at_once) == SIGCONT) {
  }
  ::kill(group_too ? 0 : ::getpid(), SIGTSTP);
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // the process stops here, and continues here
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  return ::sigtimedwait(&resumed, nullptr, &k_at_once) == SIGCONT;
}

void Signals::die_by(int number) const {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_DUMPABLE, 0);
  set_default(number);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(number);
}

}  // namespace dlock
