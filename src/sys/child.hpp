// SPDX-License-Identifier: MIT
// Child: the command, its process group, their guard, and the orphans that we adopt. The command
// must be started from the main thread: PR_SET_PDEATHSIG kills it when that thread ends (prctl(2)).
//
// The command's end is noticed without reaping it (waitid(2), WNOWAIT): while the group's leader is
// a zombie, the kernel does not reuse the number of the group, so signal_group() cannot reach a
// foreign process. reap() comes last. Orphaned descendants become our children
// (PR_SET_CHILD_SUBREAPER), so the group is empty when no such child is left.
//
// If a shell ends in `exec dlock`, dlock inherits the shell's children. They do not belong to the
// command, but their orphans become our children too. If there are such children, a process counts
// as the command's only by a proof: its ancestors, its group, its cgroup, the mark in its
// environment, or a limit that it has inherited (unlike_limit()).
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/containment.hpp"
#include "sys/guard.hpp"
#include "sys/process_table.hpp"
#include "sys/signals.hpp"
#include "sys/unique_fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct ChildSpec {
  std::vector<std::string> words;        // argv, at least one word; the program is found by PATH
  std::vector<std::string> environment;  // all of it, as "NAME=value"
  std::string mark;                      // a text that no other run has in its environment
  int terminal = -1;           // the command's group gets this terminal before exec; -1: none
  Time kill_at = Time::max();  // the guard's first deadline
};

// How the command's state has changed since the last call of next_change().
struct ChildChange {
  enum class Kind { none, ended, stopped, continued };
  Kind kind = Kind::none;
  bool by_signal = false;  // `value` is the signal that ended the child, not an exit status
  int value = 0;           // exit status or signal
};

class Child {
 public:
  // Acquires what start() needs, so that a shortage of resources shows before there is a lock to
  // lose. `contain`: every descendant belongs to the command, even outside its group. `has_others`:
  // dlock will start other commands (SideCommand), which do not belong to it.
  static Result<Child> prepare(bool contain = false, bool has_others = false);

  // Makes the cgroup and forks the guard. The result may be ignored: start() does the same if this
  // was not called or has failed, and returns the error.
  Result<void> start_guard();
  // Undoes start_guard(), for a dlock that waits for the lock: a waiter needs no second process.
  void drop_guard();
  // Starts the command, and the guard unless it runs already. Errc::system: one of them cannot be
  // forked. A failed exec is reported by exec_error(). If LISTEN_PID or WATCHDOG_PID in the
  // environment name dlock, the command gets them with its own pid.
  Result<void> start(ChildSpec spec, const Signals& signals);

  bool started() const { return pid_ > 0; }
  pid_t group() const { return pid_; }
  pid_t guard() const { return guard_.pid(); }

  // Called after SIGCHLD. Reaps adopted children. Returns the command's next change; `ended` once.
  ChildChange next_change();
  // Returns the errno of a failed exec, otherwise 0. Valid after the command's end.
  int exec_error() const;
  // Returns whether a process that belongs to the command still runs. Called after the command's
  // end. These belong to the command: its group; processes of our session that have the mark (the
  // group of a nested run whose dlock was killed); and, with `contain`, every descendant.
  bool group_alive();
  // Returns how many living descendants do not belong to the command. A nested dlock that runs a
  // command, and its guard, do not count. Called after the command's end.
  std::size_t strays() const;

  // Signals every process of the group, until reap(). The other processes that belong to the
  // command are signalled too: with `contain` always, otherwise after the end. `wake`: CONT
  // follows, for stopped processes.
  void signal_group(int number, bool wake = false);
  // Each returns a sentence if the guard was replaced or lost, otherwise an empty text (see Guard).
  std::string set_guard(Time kill_at) { return guard_.set_deadline(kill_at); }
  std::string look_at_guard() { return guard_.look(); }
  // Called before the release, when the group seems to be gone: kills the guard and what is left of
  // the group, so that reap() will not have to wait.
  void end_group();
  void reap();

 private:
  Child() = default;
  std::optional<std::vector<pid_t>> adopted() const;
  bool is_of_command(const ProcessEntry& entry) const;
  bool belongs(const ProcessEntry& entry) const;
  std::optional<std::vector<pid_t>> members() const;
  bool child_lives();
  void signal_member(pid_t pid, int number) const;

  Containment containment_ = Containment::make(false);
  bool contain_ = false;
  bool strangers_ = false;  // we may get children that do not belong to the command
  // A limit that only the command's processes have, see unlike_limit(); 0: not needed.
  unsigned long long limit_ = 0;
  Guard guard_;
  mutable ChildList children_;
  UniqueFd error_in_;
  UniqueFd error_out_;
  pid_t pid_ = 0;
  std::string mark_;
  bool ended_ = false;
  bool kill_sent_ = false;
  Time next_wait_;  // the next time at which child_lives() may look
};

}  // namespace dlock
