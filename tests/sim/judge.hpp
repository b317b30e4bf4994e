// SPDX-License-Identifier: MIT
// Judge: sees everything that truly happens in a simulation, and knows what must not. It shares no
// arithmetic with the core. The first thing that is wrong ends the simulation.
//
//   P    while a child lives the store would refuse its names to anybody who does not fit beside it
//   I1   two children of one name at a time that do not fit beside each other
//   I2   a token that is not larger than all before of its name (bounded faults: in the order of
//        the grants)
//   I4   a child that lives beyond the safe_until last announced for its hold
//   I5   "not yours" said to a holder before its own safe_until
//   I6   bounded faults: the old child lives longer than a renewal step, one call and the grace;
//        where it is told of changes and all is well with it, longer than the grace alone
//   I8   dlock ended and its child did not
//   I9   a start with too little of the lease left, or after the wait was given up or signalled
//   I10  an outcome that is not what happened
//   I12  everything is well again, and a name does not come, or stays with nobody
//   I13  a hold released twice, or while its child lives
//   I14  two starts for one wait
//   L1   a waiter with whom all is well loses its place in line
//   L2   a grant to somebody while another stands in one of its lines before it
//   L3   names with room, and a waiter with whom all is well does not get them in time: at once
//        after a release, and at most k_for_each_unwell later for each that comes before it and
//        does not answer
//   L4   a place in line that stays behind
//   L5   a waiter with whom all is well is passed by somebody who came clearly later
//   M1   a name granted beside a holder that does not fit there, or beyond the number of its slots
//   M2   a slot that two have, or that there is not
//   N1   two names for a claim that needs one
//   H1   a run that ended when all was well, and holds one of its names still
//   T1   a child that lives beyond max_hold, the grace and the time of a KILL
//   T2   a lease that ends by plan, and is renewed
//   K1   a name that somebody gets before its min_hold is over
//   K2   a name that is kept, and nothing ran under it
//   O1   a run that started though one had succeeded less than once_per before
//   O2   a success that is told of, and the command failed; or one that is not told of
// All is well with a waiter that runs, and whose way to the store, and the store itself, have had
// no fault for k_recovers, or never any.
// P, I1, I5, M2, K1 and O1 hold under the guaranteed class of faults only, the others under both.
#pragma once

#include "core/run_session.hpp"

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/time.hpp"
#include "sim/wants.hpp"

namespace dlock::sim {

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
  std::uint64_t holds = 0;    // children started
  std::uint64_t lost = 0;     // stopped because of the lease
  std::uint64_t beside = 0;   // of them: began beside others of the same name
  std::uint64_t several = 0;  // of them: of several names
  std::uint64_t chosen = 0;   // of them: of one of several names
  std::uint64_t time_up = 0;
  std::uint64_t kept = 0;  // names that were kept
  std::uint64_t done = 0;  // runs that were not wanted
  std::uint64_t guard_kills = 0;
  std::uint64_t faults = 0;
  std::uint64_t overlaps = 0;
  std::uint64_t handed_on = 0;    // grants to who stood in line
  std::uint64_t to_well = 0;      // of them: all was well with it
  std::uint64_t waits = 0;        // of dlock wait, ended
  std::uint64_t revokes = 0;      // of dlock force-release
  std::uint64_t renewals = 0;     // by dlock renew --every, confirmed
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

  struct Newcomer {
    std::string who;
    RunTerms terms;
    Wants wants;
    DriftingClock clock;
    bool hears = false;  // of changes of its names
  };
  HoldId new_hold(Newcomer one);
  const std::string& who(HoldId hold) const { return holds_[hold].who; }
  const Wants& wants(HoldId hold) const { return holds_[hold].wants; }

  // The store.
  void granted(HoldId hold, const Taken& taken);
  void released(HoldId hold, bool kept);                  // whatever it held
  void lapsed(HoldId hold, NameId name, Duration since);  // nobody is refused any more
  void keep_over(HoldId hold, NameId name, Duration since);
  void taken_away(HoldId hold, NameId name);
  // Newer ones were granted, and are gone: no run may have begun with them.
  void newest_token(NameId name, FencingToken token) { names_[name].newest_granted = token; }
  void revoked(HoldId hold) { holds_[hold].was_revoked = true; }
  void asked_to_renew(HoldId hold);
  void told_of_success(HoldId hold, NameId name);
  // The line.
  void stood(HoldId hold);
  void left_line(HoldId hold);
  void lost_place(HoldId hold, const char* why);
  void line_forgotten();
  // A question that was given up came after all; what it brought stays until it is found dead.
  void overtaken(HoldId hold) { holds_[hold].overtaken = true; }
  void asked_for(HoldId by, bool place);
  // Since when there was no fault that concerns this waiter; nothing: there is one.
  std::function<std::optional<Duration>(HoldId)> calm_since;
  // The run.
  void announced(HoldId hold, Time safe_until) { holds_[hold].announced = safe_until; }
  void told_not_yours(HoldId hold, Time asked_at);
  void signalled_without_child(HoldId hold);
  void ordered_to_stop(HoldId hold) { holds_[hold].stop_ordered = true; }
  void failed(HoldId hold) { holds_[hold].failed = true; }  // it was frozen, or died
  void guard_killed(HoldId hold, bool by_deadline);
  void ordered_to_start(HoldId hold, Time kill_at);
  void finished(HoldId hold, const Outcome& outcome, bool child_lives, bool well);
  // The child and what it started, as one.
  void began(HoldId hold, const Holds& holds);
  void leader_ended(HoldId hold, ChildStatus status) { holds_[hold].status = status; }
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
  struct Facts : Newcomer {
    int grants = 0;
    int releases = 0;
    int starts = 0;
    bool may_start = true;
    bool stop_ordered = false;
    bool guard_deadline_came = false;
    bool was_revoked = false;
    bool failed = false;
    bool ran = false;
    bool told_of = false;
    bool lives = false;
    Duration began{};
    Duration granted{};
    std::optional<Time> time_up;  // by its own clock
    std::array<std::optional<std::uint32_t>, k_names> slots{};
    std::optional<ChildStatus> status;
    std::optional<Duration> asked;  // for the first time
    bool told_at_once = false;
    bool ended_properly = false;  // when all was well
    bool overtaken = false;
    bool told_twice = false;  // to end: then it leaves everything as it is
    std::optional<Time> announced;
    std::optional<Duration> unprotected_since;
  };
  struct Waiting {
    HoldId who = 0;
    Duration since{};
  };
  struct Present {
    HoldId who = 0;
    std::optional<std::uint32_t> slot;
    bool kept = false;
  };
  struct Keep {
    HoldId who = 0;
    Duration until{};
  };
  struct Name {
    std::vector<Present> held;
    std::vector<Waiting> line;
    std::vector<Keep> keeps;
    std::vector<HoldId> living;
    FencingToken newest_granted = 0;
    std::array<FencingToken, 4> newest_begun{};  // of each mode
    // The last time that somebody might enter who could not before; was he told?
    Duration moved{};
    bool told = false;
    std::optional<Duration> success;  // when the newest run that succeeded was granted it
  };
  void moved(NameId name, Duration since, bool told);
  Present* find(HoldId hold, NameId name);  // that is not kept
  void drop(HoldId hold, NameId name, bool kept);
  void check_room(HoldId hold, NameId name, std::optional<std::uint32_t> slot);
  void check_keeps(HoldId hold, NameId name);
  void check_success(HoldId hold);
  void check_passed(HoldId hold, const std::vector<NameId>& granted);
  void no_longer_asks(HoldId hold);
  void check_beside(HoldId hold, NameId name, const Hold& granted);
  void check_outcome(HoldId hold, const Outcome& outcome);
  bool has_room(HoldId hold) const;
  bool has_room(HoldId hold, NameId name) const;
  bool has_own(HoldId hold) const;
  std::optional<Duration> due(const Waiting& one, const std::vector<NameId>& names) const;
  std::optional<Duration> due(const Waiting& one) const;
  bool was_well(HoldId hold, Duration when) const;
  bool stands(HoldId hold) const;
  void step_out(HoldId hold);
  void check_end(HoldId hold);
  Duration bound(const Facts& facts) const;

  const Agenda& agenda_;
  Trace& trace_;
  FaultClass faults_;
  std::deque<Facts> holds_;
  std::array<Name, k_names> names_;
  std::vector<Waiting> askers_;  // that have asked for a place, and are neither granted nor ended
  Duration last_movement_{};
  std::optional<Duration> healed_at_;
  std::string verdict_;
  Statistics statistics_;
};

}  // namespace dlock::sim
