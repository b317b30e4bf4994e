// SPDX-License-Identifier: MIT
// Run: one dlock process, its main thread: a RunSession with arms. It does what app/runner does,
// turn by turn: the clock is read once, a deadline that has passed comes before all else, then
// signals, then answers. An action it does not know is left alone.
#pragma once

#include "core/run_session.hpp"

#include <deque>
#include <functional>
#include <optional>

#include "sim/group.hpp"
#include "sim/link.hpp"

namespace dlock::sim {

struct RunSetting {
  RunTerms terms;
  std::uint64_t seed = 1;
  Habits habits;
  Duration slowest_turn{};
  bool cannot_start = false;
  Hearing hearing = Hearing::all;
};

class Run final : public Process {
 public:
  Run(Scene& scene,
      HoldId hold,
      const DriftingClock& clock,
      const RunSetting& setting,
      const Weather& weather);

  void start();
  void signal(int number);  // to dlock
  void terminal_stop();     // Ctrl-Z: the group and dlock itself
  void crash();             // SIGKILL
  void resume();            // SIGCONT
  void freeze();

  bool over() const { return over_; }  // finished or dead
  // Since when there was no fault for it as a waiter; nothing: there is one.
  std::optional<Duration> calm_since() const;
  bool waits() const { return !over_ && !session_.has_child(); }
  // A fault of dlock is covered by the guard, and the other way round; nobody promises more.
  bool may_fail() const {
    return waits() || to_begin_ || group_.guard_well() || !scene().rules.guards;
  }
  bool guard_may_fail() const { return runs() && session_.has_child() && group_.guard_well(); }
  HoldId hold() const { return hold_; }
  Group& group() { return group_; }
  Link& link() { return link_; }

  std::function<void()> on_over;

 private:
  static constexpr int k_child_changed = 0;  // in place of a signal's number: SIGCHLD

  void wake();
  void turn();
  void take_signals();
  void look_at_child();
  void feed(Event event);
  void carry_out(const std::vector<Action>& actions);
  void act(const action::Ask& ask) { link_.ask(ask); }
  void act(const action::CancelAsk& /*cancel*/) { link_.cancel(); }
  void act(const action::StartChild& start);
  void act(const action::SignalGroup& order);
  void act(const action::Say& say);
  void act(const action::Finish& finish);
  void act(const action::SetGuard& guard) { group_.arm(guard.kill_at); }
  template <class Other>
  void act(const Other& /*other*/) {}  // it concerns none of what is played here
  void begin_child();
  void watch_promises();

  HoldId hold_;
  const Weather& weather_;
  bool cannot_start_;
  RunSession session_;
  Link link_;
  Group group_;
  Time now_;
  std::deque<int> signals_;
  bool turn_planned_ = false;
  std::uint64_t deadline_plan_ = 0;
  std::optional<action::StartChild> to_begin_;
  bool leader_seen_dead_ = false;
  bool leftovers_ = false;
  bool stopped_here_ = false;  // by Ctrl-Z
  bool over_ = false;
};

}  // namespace dlock::sim
