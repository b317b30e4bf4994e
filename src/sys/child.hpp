// SPDX-License-Identifier: MIT
// Child: the command, its process group, and what they leave to us. Must be started from the main
// thread: the parent-death signal follows the thread that forked (prctl(2)).
//
// Its end is seen without reaping it (waitid(2), WNOWAIT): the dead leader keeps the number of its
// group from being given to anybody else, so signal_group() can never hit a stranger. reap() comes
// last. Processes that lose their parent come to us (PR_SET_CHILD_SUBREAPER), so that a group with
// nobody left in it is recognised by having no other children.
#pragma once

#include "base/result.hpp"
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
  int terminal = -1;                     // to hand to its group before exec; -1: none
};

// What the child did since the last look.
struct ChildNews {
  enum class Kind { none, ended, stopped, continued };
  Kind kind = Kind::none;
  bool by_signal = false;  // ended by `value` as a signal, not with it as a status
  int value = 0;           // status or signal
};

class Child {
 public:
  // Takes what starting will need, so that a lack of it shows before there is a lock to lose.
  static Result<Child> prepare();

  // Errc::system if there can be no process. An exec that fails shows as exec_error() at the end.
  Result<void> start(const ChildSpec& spec, const Signals& signals);

  bool started() const { return pid_ > 0; }
  pid_t group() const { return pid_; }

  // After SIGCHLD. Reaps what was adopted. Once `ended` was said, it is said no more.
  ChildNews news();
  // The errno of a failed exec, else 0. After the end.
  int exec_error() const;
  // Does any process of the group still run, or one that has the mark and is in our session (the
  // group of a nested run that was killed)? After the end.
  bool group_alive() const;

  // To every process of the group, until reap(), and after the end to the marked ones too; with
  // CONT behind it if it is to wake stopped ones.
  void signal_group(int number, bool wake = false);
  void reap();

 private:
  Child() = default;
  bool reap_adopted() const;

  UniqueFd error_in_;
  UniqueFd error_out_;
  pid_t pid_ = 0;
  std::string mark_;
  bool ended_ = false;
  bool kill_sent_ = false;
};

}  // namespace dlock
