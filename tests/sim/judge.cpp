// SPDX-License-Identifier: MIT
#include "sim/judge.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "fake/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_at_once = 900ms;  // the slowest turns of the slowest machine; polling: 500 ms
constexpr Duration k_for_each_unwell = 4500ms;  // a beat of those behind it, and its turn
}  // namespace

void Trace::add(Duration when, const std::string& text) {
  constexpr std::size_t k_most = 500000;
  if (lines_.size() > k_most) return;
  char stamp[32];
  std::snprintf(stamp, sizeof stamp, "%12.6f  ", std::chrono::duration<double>(when).count());
  lines_.push_back(stamp + text);
}

void Statistics::add(const Statistics& other) {
  holds += other.holds;
  lost += other.lost;
  guard_kills += other.guard_kills;
  faults += other.faults;
  overlaps += other.overlaps;
  handed_on += other.handed_on;
  to_well += other.to_well;
  places_lost += other.places_lost;
  longest_overlap = std::max(longest_overlap, other.longest_overlap);
  closest = std::min(closest, other.closest);
  simulated += other.simulated;
}

HoldId Judge::new_hold(std::string who,
                       const LeaseTerms& terms,
                       const DriftingClock& clock,
                       bool hears) {
  holds_.push_back({.who = std::move(who), .terms = terms, .clock = clock, .hears = hears});
  return holds_.size() - 1;
}

void Judge::blame(const char* rule, HoldId hold, const std::string& what) {
  if (!verdict_.empty()) return;
  verdict_ = std::string(rule) + ": " + holds_[hold].who + ": " + what;
  trace_.note(agenda_.now(), [&] { return "VIOLATION " + verdict_; });
}

void Judge::granted(HoldId hold, FencingToken token) {
  Facts& facts = holds_[hold];
  ++facts.grants;
  facts.unprotected_since.reset();
  if (token <= newest_granted_) blame("I2", hold, "a token that is not larger than all before");
  newest_granted_ = std::max(newest_granted_, token);
  last_movement_ = agenda_.now();
  if (!line_.empty() && line_.front().who != hold)
    blame("L2", hold, "granted past " + holds_[line_.front().who].who);
  facts.granted = agenda_.now();
  if (!line_.empty()) ++statistics_.handed_on;
  if (!line_.empty() && was_well(hold, agenda_.now())) ++statistics_.to_well;
  step_out(hold);
  free_since_.reset();
}

void Judge::released(HoldId hold) {
  Facts& facts = holds_[hold];
  facts.unprotected_since = agenda_.now();
  became_free(agenda_.now(), true);
  if (facts.lives) blame("I13", hold, "released while its child lives");
  if (++facts.releases > facts.grants) blame("I13", hold, "released more often than granted");
  last_movement_ = agenda_.now();
}

void Judge::lapsed(HoldId hold, Duration since) {
  holds_[hold].unprotected_since = since;
  last_movement_ = since;
  became_free(since, false);
}

// Whoever watches its hold does so after a renewal at the latest.
void Judge::taken_away(HoldId hold) {
  Facts& facts = holds_[hold];
  const Duration before = agenda_.now() - facts.terms.ttl() / 3 - 2s;
  facts.told_at_once = facts.hears && facts.granted + k_recovers < before && was_well(hold, before);
  lapsed(hold, agenda_.now());
}

// --- the line --------------------------------------------------------------------------------

bool Judge::was_well(HoldId hold, Duration when) const {
  const auto since = calm_since(hold);
  if (!since) return false;
  return *since == Duration::zero() || *since + k_recovers <= when;  // zero: never a fault
}

bool Judge::stands(HoldId hold) const {
  return std::any_of(
      line_.begin(), line_.end(), [&](const Waiting& one) { return one.who == hold; });
}

void Judge::expect_nobody_in_line() {
  for (const Waiting& one : line_)
    if (holds_[one.who].ended_properly) blame("L4", one.who, "has ended, and stands in line");
}

void Judge::became_free(Duration since, bool told) {
  free_since_ = since;
  told_free_ = told;
  passed_over_ = 0;
}

// A turn that it had goes to the next.
void Judge::left_line(HoldId hold) {
  if (free_since_ && line_.front().who == hold) became_free(agenda_.now(), true);
  step_out(hold);
}

void Judge::step_out(HoldId hold) {
  std::erase_if(line_, [&](const Waiting& one) { return one.who == hold; });
}

void Judge::lost_place(HoldId hold, const char* why) {
  trace_.note(agenda_.now(), [&] { return holds_[hold].who + ": loses its place " + why; });
  if (was_well(hold, agenda_.now())) blame("L1", hold, std::string("loses its place ") + why);
  last_movement_ = agenda_.now();
  ++statistics_.places_lost;
  ++passed_over_;
  step_out(hold);
}

void Judge::asked_for() {
  if (!free_since_) return;
  Duration bound = (told_free_ ? k_at_once : k_for_each_unwell) + passed_over_ * k_for_each_unwell;
  for (const Waiting& one : line_) {
    const Duration from = std::max(*free_since_, one.since);
    if (!was_well(one.who, from)) {
      bound += k_for_each_unwell;
    } else if (agenda_.now() - from > bound) {
      blame("L3", one.who, "waits for a free lock for " + format_duration(agenda_.now() - from));
    }
  }
}

// --- the run ---------------------------------------------------------------------------------

void Judge::told_not_yours(HoldId hold, Time asked_at) {
  const Facts& facts = holds_[hold];
  if (faults_ != FaultClass::guaranteed || !facts.announced) return;
  if (asked_at < *facts.announced)
    blame("I5",
          hold,
          "told \"not yours\" " + format_duration(*facts.announced - asked_at) +
              " before its safe_until");
}

void Judge::guard_killed(HoldId hold, bool by_deadline) {
  ordered_to_stop(hold);
  ++statistics_.guard_kills;
  holds_[hold].guard_deadline_came |= by_deadline;
}

void Judge::ordered_to_start(HoldId hold, Time kill_at) {
  Facts& facts = holds_[hold];
  const LeaseTerms& terms = facts.terms;
  if (facts.clock.at(agenda_.now()) + terms.ttl() / 3 > kill_at - terms.kill_after())
    blame("I9", hold, "a start with less than a renewal step left");
  if (++facts.starts > 1) blame("I14", hold, "started twice");
  if (!facts.may_start) blame("I9", hold, "a start after a signal that ends it");
}

void Judge::began(HoldId hold, FencingToken token) {
  Facts& facts = holds_[hold];
  facts.lives = true;
  facts.began = agenda_.now();
  ++statistics_.holds;
  if (faults_ == FaultClass::guaranteed) {
    if (!living_.empty()) blame("I1", hold, "starts beside the child of " + holds_[living_[0]].who);
    if (token <= newest_begun_) blame("I2", hold, "starts with a token below one seen before");
  }
  newest_begun_ = std::max(newest_begun_, token);
  living_.push_back(hold);
}

void Judge::ended(HoldId hold) {
  Facts& facts = holds_[hold];
  if (!facts.lives) return;
  facts.lives = false;
  living_.erase(std::find(living_.begin(), living_.end(), hold));
  for (const HoldId other : living_) {
    ++statistics_.overlaps;
    statistics_.longest_overlap = std::max(
        statistics_.longest_overlap, agenda_.now() - std::max(facts.began, holds_[other].began));
  }
  check_end(hold);
}

// The store has said before how the lease stands by now.
void Judge::check_end(HoldId hold) {
  const Facts& facts = holds_[hold];
  const Time shown = facts.clock.at(agenda_.now());
  if (facts.announced && shown > *facts.announced)
    blame("I4", hold, "lives " + format_duration(shown - *facts.announced) + " after safe_until");
  if (facts.announced)
    statistics_.closest = std::min(statistics_.closest, *facts.announced - shown);
  if (!facts.unprotected_since) return;
  const Duration late = agenda_.now() - *facts.unprotected_since;
  if (faults_ == FaultClass::guaranteed) {
    blame("P", hold, "lives " + format_duration(late) + " after the end of its lease");
  } else if (late > bound(facts)) {
    blame("I6", hold, "lives " + format_duration(late) + " after the lock was taken away");
  }
}

// A renewal step, one call, the grace after a verdict, and what a KILL may take.
Duration Judge::bound(const Facts& facts) const {
  const Duration ttl = facts.terms.ttl();
  const Duration learns =
      facts.told_at_once ? k_at_once : ttl / 3 + std::min<Duration>(ttl / 10, 5s);
  const Duration sum = learns + std::min<Duration>(facts.terms.kill_after(), 1s) +
                       std::max<Duration>(ttl / 100, 100ms);
  return sum + sum / 100;
}

void Judge::finished(HoldId hold, const Outcome& outcome, bool child_lives, bool well) {
  Facts& facts = holds_[hold];
  facts.ended_properly = well;
  if (well && stands(hold)) blame("L4", hold, "ends, and stands in line");
  if (child_lives) blame("I8", hold, "dlock ended, its child did not");
  const bool started = facts.starts > 0;
  const bool lost = outcome.kind == Outcome::Kind::lost;
  statistics_.lost += lost ? 1 : 0;
  if (lost && !started) blame("I10", hold, "lost, and nothing was started");
  if (lost && !facts.stop_ordered) blame("I10", hold, "lost, and the child was not stopped");
  if (facts.guard_deadline_came && !lost)
    blame("I10", hold, "killed by the guard at the deadline, and not lost");
  if (outcome.kind == Outcome::Kind::child && !started)
    blame("I10", hold, "the status of a child that was not started");
  if (started && (outcome.kind == Outcome::Kind::busy || outcome.kind == Outcome::Kind::signalled))
    blame("I10", hold, test::outcome_text(outcome) + ", and a child was started");
}

void Judge::expect_movement(Duration within) {
  if (healed_at_ && agenda_.now() - last_movement_ > within)
    blame("I12",
          holds_.size() - 1,
          "nobody was granted the lock for " + format_duration(agenda_.now() - last_movement_));
}

}  // namespace dlock::sim
