// SPDX-License-Identifier: MIT
// RunSession: one `dlock run`, from the first try to the exit status, or one `dlock acquire`, up to
// the grant, as a machine without arms: what happened goes in with the time, what to do comes out.
// No clock, no process, no socket.
//
// It promises, whatever the order of events:
//   - StartChild comes once, only after a grant, only while enough of the lease is left, and never
//     after a signal that ends us;
//   - a child whose lease cannot be kept gets TERM and, before the lease can end, KILL (unless
//     on_lost is warn);
//   - the guard always has the deadline of that KILL;
//   - a child whose time is up (max_hold, a lease that is not renewed) is stopped in the same way;
//   - release comes after the child is reaped and its group is gone, and every hold that may be
//     ours is released or undone before Finish, as far as the store answers in time;
//   - Finish comes once, and last.
// It does not know names, owners or commands: whoever carries out the actions does.
#pragma once

#include "core/child_policy.hpp"
#include "core/lease.hpp"
#include "core/lock_store.hpp"
#include "core/run_words.hpp"
#include "core/wait_loop.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

enum class OnLost { stop, warn };

struct RunTerms {
  LeaseTerms lease;
  AcquireTerms acquire;
  OnLost on_lost = OnLost::stop;
  bool contain = false;  // what the command leaves behind is waited for, not stopped
  bool renew = true;     // false: the lease ends when it ends, and the child before it
  Duration min_hold{};   // from the grant; zero: none. Only what ran is kept
  Duration max_hold{};   // from the grant to the first signal; zero: none
  Duration once_per{};   // a command that exits with 0 is told of for so long; zero: not at all
  int stop_signal = 15;
  Duration notice_every{};  // as WaitNotices has it
};

class RunSession {
 public:
  using Outcome = dlock::Outcome;

  RunSession(const RunTerms& terms, std::uint64_t seed, Time now);

  std::vector<Action> start(Time now);
  std::vector<Action> on(Event event, Time now);
  std::optional<Time> next_deadline() const;

  bool has_child() const { return phase_ == Phase::running || phase_ == Phase::leftovers; }
  // The end of the lease as far as we know, while there is one.
  std::optional<Time> safe_until() const;

 private:
  enum class Phase { acquiring, giving_up, running, leftovers, releasing, finished };

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

  void follow(WaitLoop::Turn turn, Time now);
  void end_wait(WaitLoop::End end, Time now);
  void take_grant(Grant grant, Time now);
  void note_grant(const Grant& grant, Time now);
  void give_up(Outcome outcome, Time now);
  void answered_while_giving_up(bool granted, bool unknown, Time now);
  std::optional<Time> lapses_at() const;
  void check_lease(Time now);
  std::optional<Time> time_up_at() const;
  void check_time(Time now);
  void lease_gone(Notice notice, Time kill_at, Time now);
  void kill_if_due(Time now);
  KillReason reason_to_kill(Time now) const;
  Time guard_due() const;
  void move_guard();
  void begin_release(Time now);
  ReleaseOptions release_options(Time now) const;
  void ask_release(Time now);
  void release_unknown(const std::string& why, Time now);
  void take_release(ReleaseVerdict verdict);
  void finish(Time now);
  void ask(action::Ask ask);
  void ask(action::Ask::What what, Time limit) { ask(action::Ask{.what = what, .limit = limit}); }
  bool may_ask_about_lease() const { return may_renew_ && !too_late_ && !asking_; }
  std::optional<Time> question_at() const;
  Time news_until() const;
  std::optional<Time> look_at() const;
  void check_hold(Time now);
  void handle_hold_watched(const Result<Watching>& answer, Time now);
  void handle_hold_news(const Result<HandOff>& answer, Time now);
  std::optional<Time> watch_hold_at() const;
  void listen();
  void say(Notice notice);
  void signal_group(int number, bool wake, Notice::Kind kind = Notice::Kind::signalled);

  RunTerms terms_;
  WaitLoop wait_;
  std::vector<Action> actions_;
  Time answer_due_;  // of the newest Ask
  Phase phase_ = Phase::acquiring;
  bool asking_ = false;   // an Ask is out (one at a time; a holder's await_hand_off does not count)
  bool overdue_ = false;  // it was not there when due, and has been waited for once more

  // running
  std::optional<LeaseClock> clock_;
  enum class News {
    later,  // worth it once the run has lasted a second
    on,     // the hold is watched
    off,    // there is none here
  };
  News news_ = News::later;
  Time watch_hold_from_;
  bool listening_ = false;  // awaits news of the hold
  Time news_from_;          // before it news only lead to a look then
  std::optional<Time> look_at_;
  std::optional<Time> retry_renew_at_;
  Duration retry_pause_{};
  std::string trouble_;      // why the newest renewal is unknown; empty: it is not
  bool may_renew_ = true;    // false after a verdict against us
  bool too_late_ = false;    // the lease has ended as far as we know: a renewal revives nobody
  bool not_ours_ = false;    // a master said so: nothing to release
  bool some_left_ = false;   // but some of several names
  bool lease_stop_ = false;  // the child is being stopped because of the lease
  bool time_up_ = false;     // max_hold is over, or a lease that is not renewed
  bool time_stop_ = false;   // and the child is being stopped because of that
  bool warned_ = false;      // on_lost=warn has said its line
  int user_stop_ = 0;        // the TERM or INT that was passed on
  StopPlan stop_;
  Time guard_at_ = Time::max();  // what the guard was told last; max: it kills by no clock

  // ending
  Outcome outcome_;
  RunSummary summary_;
  std::optional<Time> granted_at_;
  Time release_until_;
  std::optional<Time> retry_release_at_;
  bool release_repeated_ = false;
  bool leaving_ = false;  // only the line: nothing can be held
};

}  // namespace dlock
