// SPDX-License-Identifier: MIT
// World: runs a RunSession in fake time; a Script plays everything around it: the store, the child,
// its process group and signals. World does what the session asks for and writes a transcript, such
// as
//   "0s acquire granted, 0s start, 10s renew, 20s renew ?, …, 19.39s TERM, 29.39s KILL, …".
//
// It also checks the promises of run_session.hpp that always hold; violations() has those that were
// broken. As in the real runner, a deadline comes before everything else that happens at the same
// time. World never sleeps: an hour takes microseconds.
#pragma once

#include "core/run_session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/played_store.hpp"

namespace dlock::test {

// All times count from the start of the session, unless a comment says otherwise.
struct Script {
  // The run.
  Duration ttl = std::chrono::seconds(30);
  std::optional<Duration> kill_after = std::chrono::seconds(10);
  std::optional<Duration> wait;
  std::optional<std::uint64_t> max_waiters;
  Duration connect_timeout = std::chrono::seconds(5);
  Duration outage_limit = std::chrono::seconds(30);
  OnLost on_lost = OnLost::stop;
  OnUnavailable on_unavailable = OnUnavailable::fail;
  bool contain = false;
  bool renew = true;
  Duration min_hold{};
  Duration max_hold{};
  Duration splay{};
  Duration once_per{};
  int stop_signal = 15;
  Duration notice_every{};
  std::uint64_t seed = 1;

  // The store.
  std::vector<std::string> names{"n"};
  // From this time on the store reports a successful run, which was granted done_ago earlier.
  // nullopt: never.
  std::optional<Duration> done_from;
  Duration done_ago{};
  // Before this time, the lock is busy with `refusal`. nullopt: it is always busy.
  std::optional<Duration> free_from = Duration{};
  Refusal refusal{.holding = {.kind = Holding::Kind::lock, .type = "hash"}};
  std::optional<Duration> lease_ends;  // or, if the lock is free, the turn
  // Our place in line from each of these times on, if we wait. Empty: the store keeps no line.
  // `waiting_behind`: how many waiters come after us.
  std::vector<std::pair<Duration, std::uint64_t>> places;
  std::uint64_t waiting_behind = 0;
  std::optional<Error> watch_error;
  std::string untracked_because;  // why key tracking is unavailable
  bool complete = true;           // Grant::complete of the grant
  bool news = false;  // the store can watch a hold; if not, the transcript omits its refusal
  std::vector<Message> hand_offs;        // messages to the waiter, or to the holder
  std::optional<Duration> lost_from;     // renewals find that another owner holds the first name
  std::optional<Duration> revoked_from;  // renewals are refused
  std::optional<ReleaseVerdict> release_verdict;
  Duration latency{};
  std::vector<Trouble> troubles;
  bool grant_despite_cancel = false;  // the lock was granted although the call was cancelled

  // The child.
  bool cannot_start = false;
  std::optional<Duration> runs_for;  // from its start; nullopt: until it gets a signal
  ChildStatus status;
  std::optional<Duration> term_takes = Duration{};  // from TERM to its end; nullopt: never
  std::optional<Duration> kill_takes = Duration{};
  bool leaves_group = false;  // other processes of its group outlive it
  std::optional<Duration> group_term_takes = Duration{};
  std::optional<Duration> group_kill_takes = Duration{};

  // The machine.
  std::vector<std::pair<Duration, int>> signals;
  std::optional<std::pair<Duration, Duration>> frozen;  // dlock does not run, and time passes
};

// long_run(): the child never ends by itself; short_run(): it does.
inline Script long_run() {
  return {};
}
inline Script short_run(Duration runs_for) {
  Script script;
  script.runs_for = runs_for;
  return script;
}

class World {
 public:
  explicit World(Script script);

  // Runs, or continues, until the session is finished or `until` has come. Returns the transcript,
  // separated by commas.
  std::string run(Duration until = std::chrono::hours(1));

  // Returns the notices, as "19.39s lapsing".
  std::string said() const;
  bool said(Notice::Kind kind) const;
  // Returns the times of all asks of this kind, in order; and all asks.
  std::vector<Duration> asked(What what) const;
  const std::vector<std::pair<action::Ask, Duration>>& asks() const { return asked_; }
  // Returns the deadlines that the guard was sent, as "29.39s" or "never"; the first is the one at
  // the start of the child.
  const std::vector<std::string>& guard_told() const { return guard_told_; }

  const std::optional<Outcome>& outcome() const { return outcome_; }
  const std::vector<Notice>& notices() const { return notices_; }
  const std::vector<std::string>& violations() const { return violations_; }
  bool child_started() const { return child_ != ChildState::none; }
  // Returns whether we hold the lock, as the store sees it.
  bool held() const { return held_; }
  RunSession& session() { return session_; }

 private:
  enum class ChildState { none, running, leader_dead, gone };

  Time at(Duration since_start) const { return start_ + since_start; }
  Duration since_start() const { return now_ - start_; }
  void note(const std::string& text);
  void require(bool kept, const std::string& promise);
  std::optional<Time> next_thing() const;
  void step(Time when);
  void feed(Event event);
  void carry_out(const std::vector<Action>& actions);
  void check_deadlines();

  void act(const action::Ask& ask);
  void act(const action::CancelAsk& cancel);
  void act(const action::StartChild& start);
  void act(const action::SetGuard& guard);
  void act(const action::SignalGroup& order);
  void act(const action::Say& say);
  void act(const action::Finish& finish);

  bool hides_news(What what) const { return what == What::watch_hold && !script_.news; }
  std::optional<StoreAnswer> despite_cancel(What what);
  void check_ask(const action::Ask& ask);
  void answer_ask();
  StoreAnswer carry_out_ask(const action::Ask& ask);
  Grant grant() const;
  Refusal refusal_now(bool stands) const;
  void signal_child(int number);

  Script script_;
  Time start_{std::chrono::seconds(1000)};
  Time now_ = start_;
  LeaseTerms lease_;
  RunSession session_;
  bool begun_ = false;

  std::vector<std::string> transcript_;
  std::vector<Notice> notices_;
  std::vector<std::string> said_;
  std::vector<std::pair<action::Ask, Duration>> asked_;
  std::vector<std::string> violations_;
  std::optional<Outcome> outcome_;

  PlayedStore store_;
  bool held_ = false;
  bool in_line_ = false;
  bool no_news_ = false;    // the store has said that it cannot watch a hold
  bool gave_back_ = false;  // a release or undo was asked for
  bool told_lost_ = false;

  ChildState child_ = ChildState::none;
  std::optional<Time> child_ends_;
  ChildStatus child_status_;
  std::optional<Time> group_ends_;
  std::optional<Time> kill_at_;  // from the newest request that was confirmed in time
  std::optional<Time> term_at_;
  std::optional<Time> safe_until_;  // from the newest request that was confirmed at all
  std::optional<Time> granted_at_;
  bool stop_sent_ = false;
  Time guard_at_ = Time::max();
  std::vector<std::string> guard_told_;
  bool kill_sent_ = false;
  int kills_ = 0;
  int signals_without_child_ = 0;
  std::size_t next_signal_ = 0;
};

}  // namespace dlock::test
