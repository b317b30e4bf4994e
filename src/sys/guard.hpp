// SPDX-License-Identifier: MIT
// Guard: a second process that kills the command's process group when dlock cannot: at once if
// dlock has died, for whatever reason, and at the deadline if dlock is frozen, starved or stopped
// in a debugger. It is forked before the command and joins the command's group, so that it kills
// its own group (kill(2), pid 0) and can never kill a stranger.
//
// It does not help if both processes are killed or stopped together, or against processes that left
// the group, unless they are in the command's cgroup (Containment).
//
// Used by one thread. The guard's process is our child and never blocks us.
#pragma once

#include "base/result.hpp"
#include "sys/guard_process.hpp"
#include "sys/unique_fd.hpp"

#include <string>

namespace dlock {

class Guard {
 public:
  // Forks the guard. Errc::system: no process or descriptor is available. `cgroup_kill`: the
  // descriptor by which the guard can kill the command's cgroup, or -1; it must stay open until
  // dismiss().
  Result<void> start(int cgroup_kill = -1);
  bool started() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

  // line() is the socket to the guard. The command itself sends the first order there, between fork
  // and exec, with its own pid as the group. So the guard has its deadline before the command's
  // first instruction. note_order() only remembers this order.
  int line() const { return line_.get(); }
  void note_order(const GuardOrder& order) { last_ = order; }

  // Moves the deadline. Replaces a guard that is gone, or that has not answered the previous order
  // because it is frozen; then returns a sentence that says so and why. Otherwise returns an empty
  // text.
  std::string set_deadline(Time kill_at);
  // Called after SIGCHLD: replaces a guard that died or was stopped. Returns a text as
  // set_deadline() does.
  std::string look();

  // Kills the guard, because there is no process left to guard. reap() reaps it.
  void dismiss();
  bool dismissed() const { return dismissed_; }
  void reap();
  // end() and resume() are for a short time without a guard. end() kills the guard and reaps it;
  // resume() starts another with the newest order, unless the guard was dismissed.
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
