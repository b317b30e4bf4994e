// SPDX-License-Identifier: MIT
// World: a RunSession with everything around it played: time, a store, a child, its group, and
// signals, all by a Script. It carries out what the session asks and writes a transcript, such as
//   "0s acquire granted, 0s start, 10s renew, 20s renew ?, …, 19.39s TERM, 29.39s KILL, …".
//
// It also watches the promises of run_session.hpp that hold whatever happens, and keeps what it saw
// broken in violations(). Like the real runner it lets a deadline go before anything else that
// happens at the same time. It never sleeps: an hour takes microseconds.
#pragma once

#include "core/run_session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/played_store.hpp"

namespace dlock::test {

// All times count from the start of the session, unless it says otherwise.
struct Script {
  // The run.
  Duration ttl = std::chrono::seconds(30);
  std::optional<Duration> kill_after = std::chrono::seconds(10);
  std::optional<Duration> wait;
  std::optional<std::uint64_t> max_waiters;
  Duration connect_timeout = std::chrono::seconds(5);
  Duration outage_limit = std::chrono::seconds(30);
  OnLost on_lost = OnLost::stop;
  bool contain = false;
  bool renew = true;
  Duration min_hold{};
  Duration max_hold{};
  Duration once_per{};
  int stop_signal = 15;
  Duration notice_every{};
  std::uint64_t seed = 1;

  // The store.
  std::vector<std::string> names{"n"};
  std::optional<Duration> done_from;  // then a run that succeeded was granted done_ago before
  Duration done_ago{};
  std::optional<Duration> free_from = Duration{};  // before it: busy with `refusal`; nothing: ever
  Refusal refusal{.holding = {.kind = Holding::Kind::lock, .type = "hash"}};
  std::optional<Duration> lease_ends;  // or the turn, of what is free: it is counted down
  // Our place in line from then on, if we stand there, and how many come after us; no places: the
  // store keeps no line.
  std::vector<std::pair<Duration, std::uint64_t>> places;
  std::uint64_t waiting_behind = 0;
  std::optional<Error> watch_error;
  std::string untracked_because;      // of whoever watches for changes
  bool complete = true;               // what is granted: Grant::complete
  bool news = false;                  // of a hold; without, the refusal is left out of what is seen
  std::vector<Message> hand_offs;     // also the news of a hold
  std::optional<Duration> lost_from;  // renewals find another's lock at the first of the names
  std::optional<Duration> revoked_from;  // renewals are refused
  std::optional<ReleaseVerdict> release_verdict;
  Duration latency{};
  std::vector<Trouble> troubles;
  bool grant_despite_cancel = false;  // what is cancelled was granted already

  // The child.
  bool cannot_start = false;
  std::optional<Duration> runs_for;  // from its start; nothing: until it is signalled
  ChildStatus status;
  std::optional<Duration> term_takes = Duration{};  // from TERM to its end; nothing: ignored
  std::optional<Duration> kill_takes = Duration{};
  bool leaves_group = false;  // others of its group outlive it
  std::optional<Duration> group_term_takes = Duration{};
  std::optional<Duration> group_kill_takes = Duration{};

  // The machine.
  std::vector<std::pair<Duration, int>> signals;
  std::optional<std::pair<Duration, Duration>> frozen;  // we do not run; time passes
};

// A child that would never end by itself, and one that does.
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

  // Plays, or goes on playing, until the session is finished or `until` has come; the transcript,
  // comma-separated.
  std::string run(Duration until = std::chrono::hours(1));

  // Notices as "19.39s lapsing".
  std::string said() const;
  bool said(Notice::Kind kind) const;
  // When the session asked for `what`, in order; and all that it asked.
  std::vector<Duration> asked(What what) const;
  const std::vector<std::pair<action::Ask, Duration>>& asks() const { return asked_; }
  // The deadlines that the guard got, the one with the child first, as "29.39s" or "never".
  const std::vector<std::string>& guard_told() const { return guard_told_; }

  const std::optional<Outcome>& outcome() const { return outcome_; }
  const std::vector<Notice>& notices() const { return notices_; }
  const std::vector<std::string>& violations() const { return violations_; }
  bool child_started() const { return child_ != ChildState::none; }
  // The store thinks that we hold the lock.
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
  bool no_news_ = false;    // the store has said that there are none of a hold
  bool gave_back_ = false;  // a release or undo was asked for
  bool told_lost_ = false;

  ChildState child_ = ChildState::none;
  std::optional<Time> child_ends_;
  ChildStatus child_status_;
  std::optional<Time> group_ends_;
  std::optional<Time> kill_at_;  // by the newest request confirmed in time
  std::optional<Time> term_at_;
  std::optional<Time> safe_until_;  // by the newest request confirmed at all
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
