// SPDX-License-Identifier: MIT
// RunSession: one `dlock run` from the first try to the exit status, or one `dlock acquire` up to
// the grant. A pure machine: events go in with their time, and actions come out. It has no clock,
// process or socket.
//
// It promises, whatever the order of events:
// - StartChild comes once, after a grant only if enough of the lease is left, and never after a
//   signal that ends dlock;
// - a child starts without a grant only if on_unavailable is run, and no server can have granted a
//   claim;
// - a child whose lease cannot be kept gets TERM and, before the lease can end, KILL (unless
//   on_lost is warn);
// - the guard always has the deadline of that KILL;
// - a child whose time is up (max_hold, or a lease that is not renewed) is stopped in the same way;
// - the release comes after the child is reaped and its group is gone; every hold that may be ours
//   is released or undone before Finish, if the store answers in time;
// - Finish comes once, and last.
// It knows no names, owners or commands; the code that carries out its actions does.
//
// It only coordinates: WaitLoop gets the lock, LeaseKeeper keeps it, StopPlan stops the command,
// ReleaseLoop releases the lock.
#pragma once

#include "core/lease.hpp"
#include "core/lease_keeper.hpp"
#include "core/release_loop.hpp"
#include "core/run_words.hpp"
#include "core/stop_plan.hpp"
#include "core/wait_loop.hpp"

#include <optional>
#include <vector>

namespace dlock {

struct RunTerms {
  LeaseTerms lease;
  AcquireTerms acquire;
  OnLost on_lost = OnLost::stop;
  OnUnavailable on_unavailable = OnUnavailable::fail;
  bool contain = false;  // processes that the command leaves are waited for, not stopped
  bool renew = true;     // false: no renewal; the child is stopped before the lease ends
  Duration min_hold{};   // the name stays taken so long after the grant, if the command started
  Duration max_hold{};   // from the grant to the first signal; zero: no limit
  Duration splay{};      // the first try comes after a random time of at most this
  Duration once_per{};   // for how long a success (exit 0) is remembered; zero: not at all
  Duration keep_last{};  // for how long the store remembers how the run ended; zero: not at all
  int stop_signal = 15;
  Duration notice_every{};  // between reports of the wait; zero: doubling pauses
};

class RunSession {
 public:
  using Outcome = dlock::Outcome;

  RunSession(const RunTerms& terms, std::uint64_t seed, Time now);

  std::vector<Action> start(Time now);
  std::vector<Action> on(Event event, Time now);
  std::optional<Time> next_deadline() const;

  bool has_child() const { return phase_ == Phase::running || phase_ == Phase::leftovers; }
  // Returns the end of the lease by our clock; nullopt: the lease was not granted, or is lost.
  std::optional<Time> safe_until() const;

 private:
  enum class Phase { delaying, acquiring, giving_up, running, leftovers, releasing, finished };

  void handle(event::Acquired& event, Time now);
  void handle(event::Watched& event, Time now);
  void handle(event::HandedOff& event, Time now);
  void handle(event::Renewed& event, Time now);
  void handle(event::Released& event, Time now);
  void handle(const event::Signal& event, Time now);
  void handle(const event::StartFailed& event, Time now);
  void handle(event::TakenOver event, Time now);
  void handle(const event::ChildEnded& event, Time now);
  void handle(event::GroupGone event, Time now);
  void handle(event::Resumed event, Time now);
  void handle(event::Tick event, Time now);

  void delay_start(Time now);
  void begin_wait(Time now);
  void follow(WaitLoop::Turn turn, Time now);
  void end_wait(WaitLoop::End end, Time now);
  void take(KeepStep step, Time now);
  void take(StopStep step);
  void take(ReleaseStep step, Time now);
  void take_grant(Grant grant, Time now);
  void note_grant(const Grant& grant, Time now);
  void give_up(Outcome outcome, bool asking, Time now);
  void answered_while_giving_up(bool granted, bool unknown, Time now);
  void fail(Error error, Time now);
  void start_unlocked(const Error& why, Time now);
  void kill_if_due(Time now);
  void begin_release(Time now);
  void finish(Time now);
  void ask(const action::Ask& ask) { actions_.emplace_back(ask); }
  void say(Notice notice);
  void signal_group(int number, bool wake, Notice::Kind kind = Notice::Kind::signalled);

  RunTerms terms_;
  Phase phase_ = Phase::acquiring;
  std::vector<Action> actions_;

  std::uint64_t seed_;
  Time starts_at_;  // in Phase::delaying: when the first try is due
  WaitLoop wait_;

  // Set when the command starts without the lock.
  std::optional<Time> unlocked_at_;

  // Set from the grant on; without the lock, keeper_ has a lease that never ends.
  Holds holds_;
  std::optional<Time> granted_at_;
  std::optional<LeaseKeeper> keeper_;
  StopPlan stop_;

  ReleaseLoop release_;
  Outcome outcome_;
};

}  // namespace dlock
