// SPDX-License-Identifier: MIT
// Runner: carries out one `dlock run` on this machine. A RunSession decides, and a Driver runs it;
// Runner has the command, its guard and the terminal. It decides nothing except which process group
// has the terminal.
#pragma once

#include "app/driver.hpp"
#include "core/run_session.hpp"
#include "store/store_worker.hpp"
#include "sys/child.hpp"
#include "sys/signals.hpp"
#include "sys/terminal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// Gets each notice, and also the events that only a run reports.
class RunListener : public Listener {
 public:
  virtual void on_started(pid_t child) = 0;
  // The user has stopped the job, and dlock is about to stop. The lease ends at `safe_until`, in
  // `left`, unless dlock is continued.
  virtual void on_stopped(Time safe_until, Duration left) = 0;
  // The command needs a terminal that dlock cannot give to it, and stays stopped.
  virtual void on_left_stopped() = 0;
  // The command's guard had to be replaced; `what` is a sentence about the result.
  virtual void on_guard(const std::string& what) = 0;
  // What dlock does because of the notices so far has been done, such as a signal to the command.
  // What must not delay that can be done now.
  virtual void on_acted() {}
};

struct RunPlan {
  std::vector<std::string> words;        // the command
  std::vector<std::string> environment;  // what dlock inherited, as "NAME=value"
  std::string store;                     // the store's name in DLOCK_HOLDS
  std::vector<LockName> names;           // the names of the claim
  std::vector<std::string> keys;         // the names' keys in DLOCK_HOLDS
  bool contain = false;
};

class Runner : private DriverHooks {
 public:
  Runner(RunPlan plan,
         RunSession session,
         StoreWorker& worker,
         const Signals& signals,
         Child child,
         RunListener& listener);

  // Runs until the session has an outcome, and returns it. Errc::system: the kernel refused what
  // dlock needs, before the store was asked.
  Result<Outcome> run() { return driver_.run(); }

 private:
  friend class Driver<RunSession, Runner>;

  void carry_out(action::StartChild& start);
  void carry_out(action::SetGuard& guard) { guarded(child_.set_guard(guard.kill_at)); }
  void carry_out(action::SignalGroup& order);

  bool has_command() const { return driver_.machine().has_child(); }
  void asking(action::Ask& ask);
  void asked(action::Ask::What what);
  std::optional<Time> look_at() const;
  void look();
  void finishing();
  void child_changed();
  void continued() { told_to_stop_ = false; }
  bool stop();

  void look_at_child();
  void guarded(const std::string& trouble);
  void child_ended(const ChildChange& change);
  void child_stopped(int number);
  void stop_with_child(bool for_terminal);
  std::vector<std::string> child_environment(const Holds& holds) const;

  RunPlan plan_;
  const Signals& signals_;
  Child child_;
  RunListener& listener_;
  std::optional<Terminal> terminal_;
  // The guard is yet to be forked, in the first round of the loop: while a server works on the
  // first request, the fork costs no time. A store on a disk works on this machine: a fork beside
  // it would take its processor, and both would copy the pages that they share. There StartChild
  // forks the guard.
  bool guard_due_;
  bool unlocked_ = false;      // the command was started without the lock
  bool leftovers_ = false;     // the child has ended, but not its group
  bool told_to_stop_ = false;  // dlock itself got a stop signal, not only the child
  std::optional<RunProcesses> processes_;
  Driver<RunSession, Runner> driver_;
};

}  // namespace dlock
