// SPDX-License-Identifier: MIT
// Child: the command, its process group, their guard, and orphans that we adopt. Must be started
// from the main thread: the parent-death signal follows the thread that forked (prctl(2)).
//
// Its end is noticed without reaping it (waitid(2), WNOWAIT): while the leader is a zombie, the
// kernel does not reuse the number of its group, so signal_group() cannot reach a foreign process.
// reap() comes last. Orphaned descendants become our children (PR_SET_CHILD_SUBREAPER): if we have
// no other children, the group is empty.
//
// Children older than dlock, of a shell that ended in `exec dlock`, do not belong to the command,
// and their orphans become our children too. If there are such children, a process belongs to the
// command only by a proof: a parent, the group, the mark or the cgroup.
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
  std::vector<std::string> words;        // argv, at least one; found by PATH
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string mark;                      // a text in the environment that only this run has
  int terminal = -1;                     // to give to its group before exec; -1: none
  Time kill_at = Time::max();            // the guard's first deadline
};

// What the child did since the last look.
struct ChildChange {
  enum class Kind { none, ended, stopped, continued };
  Kind kind = Kind::none;
  bool by_signal = false;  // ended by `value` as a signal, not with it as a status
  int value = 0;           // status or signal
};

class Child {
 public:
  // Takes what the start will need, so that a shortage shows before there is a lock to lose. With
  // `contain` every descendant belongs to the command, also outside its group.
  static Result<Child> prepare(bool contain = false);

  // Makes the cgroup and forks the guard; start() does the same if this was not called. The result
  // can be ignored: start() tries again and returns the error.
  Result<void> start_guard();
  // The command will not start for a while: a waiter does not need a second process.
  void drop_guard();
  // Errc::system: no process can be made for the guard or the command. A failed exec shows as
  // exec_error() at the end. LISTEN_PID and WATCHDOG_PID in the environment name the command if
  // they named us.
  Result<void> start(ChildSpec spec, const Signals& signals);

  bool started() const { return pid_ > 0; }
  pid_t group() const { return pid_; }

  // Called after SIGCHLD. Reaps adopted children. Reports `ended` once.
  ChildChange next_change();
  // The errno of a failed exec, else 0. Valid after the end.
  int exec_error() const;
  // Whether a process that belongs to the command still runs; called after the end. To the command
  // belong: its group; in our session, processes with the mark (the group of a killed nested run);
  // and with `contain` every descendant.
  bool group_alive();
  // The number of living descendants that do not belong to the command, not counting a nested dlock
  // that runs a command and its guard. Called after the end.
  std::size_t strays() const;

  // Signals every process of the group, until reap(), and the other processes that belong to the
  // command: with `contain` always, else after the end. `wake`: CONT follows, to wake stopped ones.
  void signal_group(int number, bool wake = false);
  // See Guard: each gives the reason if the guard had to be replaced.
  std::string set_guard(Time kill_at) { return guard_.set_deadline(kill_at); }
  std::string look_at_guard() { return guard_.look(); }
  // The group is gone as far as we see: ends the rest of it and the guard before the release, so
  // that reap() will not have to wait for them.
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
  bool strangers_ = false;        // children may come that do not belong to the command
  unsigned long long limit_ = 0;  // marks the command, see unlike_limit(); 0: not needed
  Guard guard_;
  mutable ChildList children_;
  UniqueFd error_in_;
  UniqueFd error_out_;
  pid_t pid_ = 0;
  std::string mark_;
  bool ended_ = false;
  bool kill_sent_ = false;
  Time next_wait_;  // when child_lives() may look again
};

}  // namespace dlock
