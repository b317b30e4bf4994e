// SPDX-License-Identifier: MIT
// Guard: a second process that kills the command's process group when dlock cannot: at once when
// dlock has died, for whatever reason, and at the deadline when dlock is frozen, starved or held in
// a debugger. It is forked before the command and is a member of the command's group, so that it
// kills its own group (kill(2), pid 0) and can never reach a stranger.
//
// Not covered: both processes killed or stopped together, and processes that left the group.
//
// One thread; the process of the guard is a child of ours and never blocks us.
#pragma once

#include "base/result.hpp"
#include "sys/guard_process.hpp"
#include "sys/unique_fd.hpp"

#include <string>

namespace dlock {

class Guard {
 public:
  // Errc::system if there can be no process or descriptor. `cgroup_kill` as in GuardStart; it must
  // stay open until dismiss().
  Result<void> start(int cgroup_kill = -1);
  bool started() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  // The command itself sends the first order, between fork and exec, with its own pid as the group:
  // the guard has its deadline before the command's first instruction. We only note the order here.
  int line() const { return line_.get(); }
  void note_order(const GuardOrder& order) { last_ = order; }

  // Moves the deadline. A guard that is gone or did not answer the order before (frozen) is
  // replaced; then the result is a sentence that says so and why, else it is empty.
  std::string set_deadline(Time kill_at);
  // Called after SIGCHLD: replaces a guard that died or was stopped; result as above.
  std::string look();

  // No process is left to guard: ends the guard; reap() reaps it.
  void dismiss();
  bool dismissed() const { return dismissed_; }
  void reap();
  // For a moment without a guard: end() ends and reaps it; resume() starts another with the newest
  // order, unless the guard was dismissed.
  void end();
  void resume() {
    if (!dismissed_) replace("it was ended");
  }

 private:
  std::string replace(const std::string& why);
  bool answered();

  UniqueFd line_;
  pid_t pid_ = 0;
  int cgroup_kill_ = -1;
  bool dismissed_ = false;
  GuardOrder last_;
  GuardOrder answer_;
};

}  // namespace dlock
