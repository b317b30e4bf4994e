// SPDX-License-Identifier: MIT
// Runner: one `dlock run` on this machine. It turns what comes from the signals, the timer, the
// store thread and the child into events for the session, and carries out what the session answers.
// It reads the clock once a turn. No policy is decided here, except who has the terminal.
#pragma once

#include "core/run_session.hpp"
#include "store/store_worker.hpp"
#include "sys/child.hpp"
#include "sys/deadline_timer.hpp"
#include "sys/signals.hpp"
#include "sys/terminal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

// Who tells people. Called on the main thread; must not block for long.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;
  virtual void on_notice(const Notice& notice) = 0;
  virtual void on_started(pid_t child) = 0;
  // The user stopped the job; the lock lapses at `safe_until`, in `left`, unless it is continued.
  virtual void on_stopped(Time safe_until, Duration left) = 0;
  // The command wants a terminal that nobody can give to it, and stays stopped.
  virtual void on_left_stopped() = 0;
  // The guard of the command had to be replaced: a sentence about what came of it.
  virtual void on_guard(const std::string& what) = 0;
};

struct RunPlan {
  std::vector<std::string> words;        // the command
  std::vector<std::string> environment;  // what it gets besides ours
  std::string store;                     // as in DLOCK_HOLDS
  std::vector<std::string> keys;         // likewise, of each name
  bool contain = false;
};

class Runner {
 public:
  Runner(RunPlan plan,
         RunSession session,
         StoreWorker& worker,
         const Signals& signals,
         Child child,
         Listener& listener);

  // Runs to the end. Errc::system only if this machine fails us before anything was asked.
  Result<Outcome> run();

 private:
  void turn();
  void feed(Event event);
  void carry_out(std::vector<Action> actions);
  void carry_out_one(action::Ask& ask);
  void carry_out_one(action::CancelAsk& /*cancel*/) { worker_.cancel(); }
  void carry_out_one(action::StartChild& start);
  void carry_out_one(action::SetGuard& guard) { guarded(child_.set_guard(guard.kill_at)); }
  void carry_out_one(action::SignalGroup& order) { child_.signal_group(order.signal, order.wake); }
  void carry_out_one(action::Say& say) { listener_.on_notice(say.notice); }
  void carry_out_one(action::Finish& finish);

  void take_signals();
  void take_answers();
  void look_at_child();
  void guarded(const std::string& trouble);
  void child_ended(const ChildNews& news);
  void child_stopped(int number);
  void stop_with_child(bool for_terminal);
  std::vector<std::string> child_environment(const Holds& holds) const;

  RunPlan plan_;
  RunSession session_;
  StoreWorker& worker_;
  const Signals& signals_;
  Child child_;
  Listener& listener_;
  DeadlineTimer timer_;
  std::optional<Terminal> terminal_;
  bool leftovers_ = false;     // the child is dead, others of its group are not
  bool told_to_stop_ = false;  // SIGTSTP came to us, not to the child
  Time now_;
  std::optional<Outcome> outcome_;
};

}  // namespace dlock
