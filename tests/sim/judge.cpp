// SPDX-License-Identifier: MIT
#include "sim/judge.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "support/world_words.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_at_once = 900ms;  // the slowest turns of the slowest machine
constexpr Duration k_grace_for_leftovers = 500ms;
constexpr Duration k_calm =
    1s;  // of a lock that changes all the time not every change is looked at
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
  beside += other.beside;
  several += other.several;
  chosen += other.chosen;
  time_up += other.time_up;
  kept += other.kept;
  done += other.done;
  guard_kills += other.guard_kills;
  faults += other.faults;
  overlaps += other.overlaps;
  handed_on += other.handed_on;
  to_well += other.to_well;
  waits += other.waits;
  revokes += other.revokes;
  renewals += other.renewals;
  places_lost += other.places_lost;
  longest_overlap = std::max(longest_overlap, other.longest_overlap);
  closest = std::min(closest, other.closest);
  simulated += other.simulated;
}

HoldId Judge::new_hold(Newcomer one) {
  holds_.push_back(Facts{std::move(one)});
  return holds_.size() - 1;
}

void Judge::blame(const char* rule, HoldId hold, const std::string& what) {
  if (!verdict_.empty()) return;
  verdict_ = std::string(rule) + ": " + holds_[hold].who + ": " + what;
  trace_.note(agenda_.now(), [&] { return "VIOLATION " + verdict_; });
}

// --- the store -------------------------------------------------------------------------------

void Judge::granted(HoldId hold, const Taken& taken) {
  Facts& facts = holds_[hold];
  ++facts.grants;
  facts.unprotected_since.reset();
  facts.granted = last_movement_ = agenda_.now();
  check_success(hold);
  check_passed(hold, taken.names);
  bool handed_on = false;
  for (const NameId name : facts.wants.names)
    if (facts.wants.one && find(hold, name) != nullptr)
      blame("N1", hold, "granted one more, and has " + name_text(name));
  for (std::size_t i = 0; i < taken.names.size(); ++i) {
    Name& name = names_[taken.names[i]];
    if (taken.tokens[i] <= name.newest_granted)
      blame("I2", hold, "a token that is not larger than all before");
    name.newest_granted = std::max(name.newest_granted, taken.tokens[i]);
    handed_on = handed_on || !name.line.empty();
    if (!name.line.empty() && name.line.front().who != hold)
      blame("L2", hold, "granted past " + holds_[name.line.front().who].who);
    check_keeps(hold, taken.names[i]);
    check_room(hold, taken.names[i], taken.slots[i]);
    name.held.push_back({.who = hold, .slot = taken.slots[i]});
    moved(taken.names[i], agenda_.now(), true);  // there may be room for the next
  }
  for (const NameId name : facts.wants.names)  // it may have been the first of those
    if (facts.wants.one && handed_on) moved(name, agenda_.now(), true);
  if (handed_on) ++statistics_.handed_on;
  if (handed_on && was_well(hold, agenda_.now())) ++statistics_.to_well;
  step_out(hold);
}

void Judge::check_room(HoldId hold, NameId name, std::optional<std::uint32_t> slot) {
  const Wants& wants = holds_[hold].wants;
  const auto& held = names_[name].held;
  for (const Present& one : held) {
    if (!fit_beside(holds_[one.who].wants, wants))
      blame("M1", hold, "granted beside " + holds_[one.who].who);
    if (slot && one.slot == slot && faults_ == FaultClass::guaranteed)
      blame("M2", hold, "has the slot of " + holds_[one.who].who);
  }
  if (wants.mode != Mode::slots) return;
  if (held.size() >= wants.slots) blame("M1", hold, "granted beyond the number of slots");
  if (slot.value_or(wants.slots) >= wants.slots) blame("M2", hold, "has a slot that there is not");
}

void Judge::check_keeps(HoldId hold, NameId name) {
  auto& keeps = names_[name].keeps;
  std::erase_if(keeps, [this](const Keep& keep) { return keep.until <= agenda_.now(); });
  if (faults_ != FaultClass::guaranteed) return;
  for (const Keep& keep : keeps)
    if (!fit_beside(holds_[keep.who].wants, holds_[hold].wants))
      blame("K1", hold, "granted within the min_hold of " + holds_[keep.who].who);
}

void Judge::check_success(HoldId hold) {
  const Wants& wants = holds_[hold].wants;
  if (wants.once_per == 0ns || faults_ != FaultClass::guaranteed) return;
  const auto recent = [&](NameId name) {
    const auto success = names_[name].success;
    return success && agenda_.now() - *success < wants.once_per * 98 / 100;
  };
  if (std::all_of(wants.names.begin(), wants.names.end(), recent))
    blame("O1", hold, "granted though a run succeeded less than once_per ago");
}

void Judge::told_of_success(HoldId hold, NameId name) {
  Facts& facts = holds_[hold];
  facts.told_of = true;
  if (facts.status != ChildStatus{ChildStatus::Kind::exited, 0})
    blame("O2", hold, "tells of a success, and there was none");
  names_[name].success = facts.granted;
}

void Judge::released(HoldId hold, bool kept) {
  Facts& facts = holds_[hold];
  facts.unprotected_since = last_movement_ = agenda_.now();
  if (facts.lives) blame("I13", hold, "released while its child lives");
  if (++facts.releases > facts.grants) blame("I13", hold, "released more often than granted");
  if (kept && !facts.ran) blame("K2", hold, "kept, and nothing ran");
  const bool success = facts.status == ChildStatus{ChildStatus::Kind::exited, 0};
  if (facts.terms.once_per > 0ns && success && !facts.stop_ordered && !facts.told_of)
    blame("O2", hold, "does not tell of its success");
  statistics_.kept += kept ? 1 : 0;
  const bool once = facts.grants == 1 && facts.releases == 1;  // and no late copy
  const bool to_be_kept = facts.terms.min_hold > 0ns && facts.ran && !facts.stop_ordered && once;
  const Duration until = facts.granted + facts.terms.min_hold * 98 / 100;
  for (const NameId name : facts.wants.names) {
    Present* const present = find(hold, name);
    if (present == nullptr) continue;  // it was lost
    if (to_be_kept && !facts.was_revoked) names_[name].keeps.push_back({hold, until});
    present->kept = kept;
    if (!kept) drop(hold, name, false);
    moved(name, agenda_.now(), true);
  }
}

Judge::Present* Judge::find(HoldId hold, NameId name) {
  auto& held = names_[name].held;
  const auto is_it = [hold](const Present& one) { return one.who == hold && !one.kept; };
  const auto found = std::find_if(held.begin(), held.end(), is_it);
  return found == held.end() ? nullptr : &*found;
}

void Judge::drop(HoldId hold, NameId name, bool kept) {
  std::erase_if(names_[name].held,
                [&](const Present& one) { return one.who == hold && one.kept == kept; });
}

void Judge::lapsed(HoldId hold, NameId name, Duration since) {
  holds_[hold].unprotected_since = since;
  drop(hold, name, false);
  last_movement_ = since;
  moved(name, since, false);
}

// Or taken away by hand: then nobody waits for the rest of it.
void Judge::keep_over(HoldId hold, NameId name, Duration since) {
  std::erase_if(names_[name].keeps, [&](const Keep& keep) {
    return keep.who == hold && (holds_[hold].was_revoked || faults_ == FaultClass::bounded);
  });
  drop(hold, name, true);
  last_movement_ = since;
  moved(name, since, false);
}

// Whoever watches its hold does so after a renewal at the latest.
void Judge::taken_away(HoldId hold, NameId name) {
  Facts& facts = holds_[hold];
  const Duration before = agenda_.now() - facts.terms.lease.ttl() / 3 - 2s;
  facts.told_at_once = facts.hears && facts.granted + k_recovers < before && was_well(hold, before);
  lapsed(hold, name, agenda_.now());
}

void Judge::asked_to_renew(HoldId hold) {
  if (!holds_[hold].terms.renew) blame("T2", hold, "renews a lease that ends by plan");
}

// --- the run ---------------------------------------------------------------------------------

void Judge::signalled_without_child(HoldId hold) {
  Facts& facts = holds_[hold];
  facts.told_twice = !facts.may_start;
  facts.may_start = false;
}

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
  const LeaseTerms& terms = facts.terms.lease;
  if (facts.terms.max_hold > 0ns)
    facts.time_up = facts.clock.at(agenda_.now()) + facts.terms.max_hold;
  if (facts.clock.at(agenda_.now()) + terms.ttl() / 3 > kill_at - terms.kill_after())
    blame("I9", hold, "a start with less than a renewal step left");
  if (++facts.starts > 1) blame("I14", hold, "started twice");
  if (!facts.may_start) blame("I9", hold, "a start after a signal that ends it");
}

void Judge::began(HoldId hold, const Holds& holds) {
  Facts& facts = holds_[hold];
  facts.lives = facts.ran = true;
  facts.began = agenda_.now();
  ++statistics_.holds;
  if (holds.size() > 1) ++statistics_.several;
  if (facts.wants.one) ++statistics_.chosen;
  if (facts.wants.one && holds.size() != 1) blame("N1", hold, "began with several names");
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const NameId name = name_in(holds[i].name.text());
    facts.slots[name] = holds[i].slot;
    if (i == 0 && !names_[name].living.empty()) ++statistics_.beside;
    if (faults_ == FaultClass::guaranteed) check_beside(hold, name, holds[i]);
    auto& newest = names_[name].newest_begun[static_cast<std::size_t>(facts.wants.mode)];
    newest = std::max(newest, holds[i].token);
    names_[name].living.push_back(hold);
  }
}

// Readers, and those who have slots, may overtake each other between the grant and the start.
void Judge::check_beside(HoldId hold, NameId name, const Hold& granted) {
  const Wants& wants = holds_[hold].wants;
  for (const HoldId other : names_[name].living) {
    const Facts& facts = holds_[other];
    if (!fit_beside(facts.wants, wants))
      blame("I1", hold, "starts beside the child of " + facts.who);
    if (granted.slot && facts.slots[name] == granted.slot)
      blame("M2", hold, "starts with the slot of " + facts.who);
  }
  if (wants.mode == Mode::slots && names_[name].living.size() >= wants.slots)
    blame("I1", hold, "starts beyond the number of slots");
  for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared, Mode::slots}) {
    const bool fits = mode == wants.mode && (mode == Mode::shared || mode == Mode::slots);
    if (!fits && granted.token <= names_[name].newest_begun[static_cast<std::size_t>(mode)])
      blame("I2", hold, "starts with a token below one seen before");
  }
}

void Judge::ended(HoldId hold) {
  Facts& facts = holds_[hold];
  if (!facts.lives) return;
  facts.lives = false;
  for (const NameId name : facts.wants.names) {
    if (std::erase(names_[name].living, hold) == 0) continue;  // it had another of its names
    for (const HoldId other : names_[name].living) {
      if (fit_beside(holds_[other].wants, facts.wants)) continue;
      ++statistics_.overlaps;
      statistics_.longest_overlap = std::max(
          statistics_.longest_overlap, agenda_.now() - std::max(facts.began, holds_[other].began));
    }
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
  if (facts.time_up && !facts.failed) {
    const LeaseTerms& lease = facts.terms.lease;
    const Duration grace = std::max<Duration>(lease.kill_after(), k_grace_for_leftovers) +
                           std::max<Duration>(lease.ttl() / 100, 100ms);
    if (shown > *facts.time_up + grace)
      blame("T1", hold, "lives " + format_duration(shown - *facts.time_up) + " after its max_hold");
  }
  if (!facts.unprotected_since) return;
  const Duration late = agenda_.now() - *facts.unprotected_since;
  if (faults_ == FaultClass::guaranteed) {
    blame("P", hold, "lives " + format_duration(late) + " after the end of its lease");
  } else if (late > bound(facts)) {
    blame("I6", hold, "lives " + format_duration(late) + " after the lock was taken away");
  }
}

// A renewal step, one call, the grace after a verdict, and what a KILL may take. A lease that is
// not renewed just ends.
Duration Judge::bound(const Facts& facts) const {
  const LeaseTerms& lease = facts.terms.lease;
  const Duration ttl = lease.ttl();
  Duration learns = facts.terms.renew ? ttl / 3 + std::min<Duration>(ttl / 10, 5s) : ttl;
  if (facts.told_at_once) learns = k_calm + k_at_once;
  const Duration sum =
      learns + std::min<Duration>(lease.kill_after(), 1s) + std::max<Duration>(ttl / 100, 100ms);
  return sum + sum / 100;
}

void Judge::finished(HoldId hold, const Outcome& outcome, bool child_lives, bool well) {
  Facts& facts = holds_[hold];
  no_longer_asks(hold);
  facts.ended_properly = well && !facts.overtaken && !facts.told_twice;
  if (facts.ended_properly && stands(hold)) blame("L4", hold, "ends, and stands in line");
  if (child_lives) blame("I8", hold, "dlock ended, its child did not");
  for (NameId name = 0; name < k_names && facts.ended_properly; ++name)
    if (find(hold, name) != nullptr) blame("H1", hold, "ends, and holds " + name_text(name));
  check_outcome(hold, outcome);
}

void Judge::check_outcome(HoldId hold, const Outcome& outcome) {
  const Facts& facts = holds_[hold];
  using Kind = Outcome::Kind;
  const bool started = facts.starts > 0;
  const bool lost = outcome.kind == Kind::lost;
  const bool time_up = outcome.kind == Kind::time_up;
  statistics_.lost += lost ? 1 : 0;
  statistics_.time_up += time_up ? 1 : 0;
  statistics_.done += outcome.kind == Kind::done ? 1 : 0;
  if ((lost || time_up) && !started)
    blame("I10", hold, test::outcome_text(outcome) + ", and nothing was started");
  if ((lost || time_up) && !facts.stop_ordered)
    blame("I10", hold, test::outcome_text(outcome) + ", and the child was not stopped");
  if (time_up && facts.terms.renew && !facts.time_up)
    blame("I10", hold, "its time is up, and there was no end to it");
  if (facts.guard_deadline_came && !lost && !time_up && facts.terms.renew)
    blame("I10", hold, "killed by the guard at the deadline, and not lost");
  if (outcome.kind == Kind::child && !started)
    blame("I10", hold, "the status of a child that was not started");
  const bool unstarted =
      outcome.kind == Kind::busy || outcome.kind == Kind::signalled || outcome.kind == Kind::done;
  if (started && unstarted)
    blame("I10", hold, test::outcome_text(outcome) + ", and a child was started");
  if (outcome.kind == Kind::done && facts.wants.once_per == 0ns)
    blame("I10", hold, "not wanted, and nobody asked whether it was");
}

void Judge::expect_movement(Duration within) {
  if (healed_at_ && agenda_.now() - last_movement_ > within)
    blame("I12",
          holds_.size() - 1,
          "nobody was granted the lock for " + format_duration(agenda_.now() - last_movement_));
}

}  // namespace dlock::sim
