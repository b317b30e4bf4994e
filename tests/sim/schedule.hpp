// SPDX-License-Identifier: MIT
// Schedule: one core, and what has happened to it so far, step by step. It knows which steps can
// come next, and whether the last one broke a promise of run_session.hpp; the deadlines it checks
// against are its own sums. A copy goes another way from there.
#pragma once

#include "core/run_session.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace dlock::sim {

// What can happen next.
enum class Step {
  granted,
  busy,
  renewed,
  revoked,
  held,  // to a check
  lost,
  released,
  done,     // watching; of a hand-off: something has changed
  refused,  // news of the hold are not to be had
  error,    // any question: an answer that is no verdict
  time,     // to the next deadline, ours or that of the question
  freeze,   // dlock does not run for two thirds of the lease
  sleep,    // for two leases
  signal,   // TERM to dlock
  ends,     // the command and its group
  leaves,   // the command alone; others of its group live
  gone,     // and these
};
const char* word_for(Step step);

class Schedule {
 public:
  enum class Kind {
    plain,
    fixed,    // a lease of two names that is not renewed
    max_hold  // that is over before the first renewal
  };
  explicit Schedule(Kind kind);
  std::vector<Step> next_steps() const;
  void play(Step step);
  bool over() const { return finished_; }
  const std::string& violation() const { return violation_; }

 private:
  using What = action::Ask::What;
  struct Question {
    action::Ask ask;
    Time sent_at;
    bool interrupted = false;
  };

  void pass(Duration time);
  void to_next_deadline();
  void feed(Event event);
  void note_lapse();
  void answer(Step step);
  StoreAnswer answer_to(const Question& question, Step step);
  RenewReply verdict(const Question& question, Step step);
  void carry_out(const std::vector<Action>& actions);
  void act(const action::Ask& ask);
  void act(const action::StartChild& start);
  void act(const action::SetGuard& guard) { guard_at_ = guard.kill_at; }
  void act(const action::SignalGroup& order);
  void act(const action::Finish& finish);
  template <class Other>
  void act(const Other& /*other*/) {}
  void check();
  void require(bool kept, const char* promise);
  bool lives() const { return leader_lives_ || others_live_; }
  Time kill_at() const;
  Time stopped_by() const;

  Kind kind_;
  LeaseTerms lease_;
  Time now_;
  RunSession session_;
  std::deque<Question> questions_;  // the front one is being asked
  std::string violation_;
  bool started_ = false;
  bool leader_lives_ = false;
  bool others_live_ = false;
  bool finished_ = false;
  bool maybe_held_ = false;  // as far as anybody can know
  bool gave_back_ = false;   // asked to release or to undo
  bool in_line_ = false;     // maybe
  bool left_ = false;        // asked to give up its place in line
  bool no_news_ = false;     // was said
  bool term_sent_ = false;
  bool kill_sent_ = false;
  int signals_ = 0;
  bool froze_ = false;
  bool may_start_ = true;
  std::optional<Time> time_up_;    // the end of max_hold
  std::optional<Time> confirmed_;  // when the newest confirmed request was sent
  std::optional<Time> stop_kill_;  // the KILL that a verdict or a lapse asks for
  std::optional<Time> guard_at_;
};

}  // namespace dlock::sim
