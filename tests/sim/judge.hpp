// SPDX-License-Identifier: MIT
// Judge: sees everything that truly happens in a simulation, and knows what must not. It shares no
// arithmetic with the core. The first thing that is wrong ends the simulation.
//
//   P    while a child lives the store would refuse the lock to anybody else
//   I1   two children of one lock at a time
//   I2   a token that is not larger than all before (bounded faults: in the order of the grants)
//   I4   a child that lives beyond the safe_until last announced for its hold
//   I5   "not yours" said to a holder before its own safe_until
//   I6   bounded faults: the old child lives longer than a renewal step, one call and the grace;
//        where it is told of changes and all is well with it, longer than the grace alone
//   I8   dlock ended and its child did not
//   I9   a start with too little of the lease left, or after the wait was given up or signalled
//   I10  an outcome that is not what happened
//   I12  everything is well again, and the lock does not come, or stays with nobody
//   I13  a hold released twice, or while its child lives
//   I14  two starts for one wait
//   L1   a waiter with whom all is well loses its place in line
//   L2   a grant to somebody while another stands in line before it
//   L3   a lock that is free, and a waiter with whom all is well does not get it in time: at once
//        after a release, and at most k_for_each_unwell later for each that comes before it and
//        does not answer
//   L4   a place in line that stays behind
// All is well with a waiter that runs, and whose way to the store, and the store itself, have had
// no fault for k_recovers, or never any.
// P, I1, I5 hold under the guaranteed class of faults only, the others under both.
#pragma once

#include "core/lease.hpp"
#include "core/run_session.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/time.hpp"

namespace dlock::sim {

using HoldId = std::size_t;  // every hold has an owner of its own

// After a fault: a call that hangs at its end, a pause, watching and trying again.
constexpr Duration k_recovers = std::chrono::seconds(8);

enum class FaultClass { guaranteed, bounded };

class Trace {
 public:
  explicit Trace(bool on) : on_(on) {}
  bool on() const { return on_; }
  template <class Text>
  void note(Duration when, Text text) {
    if (on_) add(when, text());
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void add(Duration when, const std::string& text);
  bool on_;
  std::vector<std::string> lines_;
};

struct Statistics {
  std::uint64_t holds = 0;  // children started
  std::uint64_t lost = 0;   // stopped because of the lease
  std::uint64_t guard_kills = 0;
  std::uint64_t faults = 0;
  std::uint64_t overlaps = 0;
  std::uint64_t handed_on = 0;    // grants to who stood in line
  std::uint64_t to_well = 0;      // of them: all was well with it
  std::uint64_t places_lost = 0;  // by who was frozen, cut off or dead
  Duration longest_overlap{};
  // From the death of a child to the end of its lease: the least that was left.
  Duration closest = Duration::max();
  Duration simulated{};
  void add(const Statistics& other);
};

class Judge {
 public:
  Judge(const Agenda& agenda, Trace& trace, FaultClass faults)
      : agenda_(agenda), trace_(trace), faults_(faults) {}

  HoldId new_hold(std::string who, const LeaseTerms& terms, const DriftingClock& clock, bool hears);
  const std::string& who(HoldId hold) const { return holds_[hold].who; }

  // The store.
  void granted(HoldId hold, FencingToken token);
  void released(HoldId hold);
  void lapsed(HoldId hold, Duration since);  // nobody is refused any more
  void taken_away(HoldId hold);
  // The line.
  void stood(HoldId hold) { line_.push_back({hold, agenda_.now()}); }
  void left_line(HoldId hold);
  void lost_place(HoldId hold, const char* why);
  void line_forgotten() { line_.clear(); }
  void asked_for();  // somebody asks for the lock
  // Since when there was no fault that concerns this waiter; nothing: there is one.
  std::function<std::optional<Duration>(HoldId)> calm_since;
  // The run.
  void announced(HoldId hold, Time safe_until) { holds_[hold].announced = safe_until; }
  void told_not_yours(HoldId hold, Time asked_at);
  void signalled_without_child(HoldId hold) { holds_[hold].may_start = false; }
  void ordered_to_stop(HoldId hold) { holds_[hold].stop_ordered = true; }
  void guard_killed(HoldId hold, bool by_deadline);
  void ordered_to_start(HoldId hold, Time kill_at);
  void finished(HoldId hold, const Outcome& outcome, bool child_lives, bool well);
  // The child and what it started, as one.
  void began(HoldId hold, FencingToken token);
  void ended(HoldId hold);
  bool lives(HoldId hold) const { return holds_[hold].lives; }
  bool was_released(HoldId hold) const { return holds_[hold].releases > 0; }

  void blame(const char* rule, HoldId hold, const std::string& what);
  const std::string& verdict() const { return verdict_; }
  Statistics& statistics() { return statistics_; }
  void no_faults_from(Duration now) { healed_at_ = last_movement_ = now; }
  void expect_movement(Duration within);  // once healed, while somebody waits
  void expect_nobody_in_line();           // who has ended

 private:
  struct Facts {
    std::string who;
    LeaseTerms terms;
    DriftingClock clock;
    bool hears = false;  // of changes of its lock
    int grants = 0;
    int releases = 0;
    int starts = 0;
    bool may_start = true;
    bool stop_ordered = false;
    bool guard_deadline_came = false;
    bool lives = false;
    Duration began{};
    Duration granted{};
    bool told_at_once = false;
    bool ended_properly = false;  // when all was well
    std::optional<Time> announced;
    std::optional<Duration> unprotected_since;
  };
  struct Waiting {
    HoldId who = 0;
    Duration since{};
  };
  void became_free(Duration since, bool told);
  bool was_well(HoldId hold, Duration when) const;
  bool stands(HoldId hold) const;
  void step_out(HoldId hold);
  void check_end(HoldId hold);
  Duration bound(const Facts& facts) const;

  const Agenda& agenda_;
  Trace& trace_;
  FaultClass faults_;
  std::deque<Facts> holds_;
  std::vector<HoldId> living_;
  FencingToken newest_granted_ = 0;
  FencingToken newest_begun_ = 0;
  Duration last_movement_{};
  std::optional<Duration> healed_at_;
  std::vector<Waiting> line_;
  std::optional<Duration> free_since_ = Duration{};
  bool told_free_ = false;
  int passed_over_ = 0;  // since then
  std::string verdict_;
  Statistics statistics_;
};

}  // namespace dlock::sim
