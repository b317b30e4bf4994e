// SPDX-License-Identifier: MIT
// The part of the Judge that looks after the lines: whose turn it is, and who waits for too long.
#include "base/duration.hpp"

#include <algorithm>

#include "sim/judge.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_at_once = 900ms;  // the slowest turns of the slowest machine; polling: 500 ms
constexpr Duration k_for_each_unwell = 4500ms;  // a beat of those behind it, and its turn
}  // namespace

bool Judge::was_well(HoldId hold, Duration when) const {
  const auto since = calm_since(hold);
  if (!since) return false;
  return *since == Duration::zero() || *since + k_recovers <= when;  // zero: never a fault
}

bool Judge::stands(HoldId hold) const {
  return std::any_of(names_.begin(), names_.end(), [&](const Name& name) {
    return std::any_of(
        name.line.begin(), name.line.end(), [&](const Waiting& one) { return one.who == hold; });
  });
}

void Judge::moved(NameId name, Duration since, bool told) {
  names_[name].moved = since;
  names_[name].told = told;
}

void Judge::stood(HoldId hold) {
  for (const NameId name : holds_[hold].wants.names)
    names_[name].line.push_back({hold, agenda_.now()});
}

void Judge::step_out(HoldId hold) {
  for (Name& name : names_)
    std::erase_if(name.line, [&](const Waiting& one) { return one.who == hold; });
}

// A turn that it had goes to the next.
void Judge::left_line(HoldId hold) {
  step_out(hold);
  no_longer_asks(hold);
  for (const NameId name : holds_[hold].wants.names)
    moved(name, agenda_.now(), true);
}

void Judge::lost_place(HoldId hold, const char* why) {
  trace_.note(agenda_.now(), [&] { return holds_[hold].who + ": loses its place " + why; });
  // Who is told to end does not listen any more, and is about to leave.
  const bool waits = holds_[hold].may_start;
  if (waits && was_well(hold, agenda_.now()))
    blame("L1", hold, std::string("loses its place ") + why);
  last_movement_ = agenda_.now();
  ++statistics_.places_lost;
  step_out(hold);
  for (const NameId name : holds_[hold].wants.names)
    moved(name, agenda_.now(), false);
}

void Judge::line_forgotten() {
  for (Name& name : names_) {
    name.line.clear();
    name.keeps.clear();
    name.success.reset();
  }
  askers_.clear();
}

void Judge::expect_nobody_in_line() {
  for (const Name& name : names_)
    for (const Waiting& one : name.line)
      if (holds_[one.who].ended_properly && !holds_[one.who].overtaken)
        blame("L4", one.who, "has ended, and stands in line");
}

void Judge::no_longer_asks(HoldId hold) {
  std::erase_if(askers_, [hold](const Waiting& one) { return one.who == hold; });
}

bool Judge::has_own(HoldId hold) const {
  const auto& names = holds_[hold].wants.names;
  return std::any_of(names.begin(), names.end(), [&](NameId name) {
    const auto& held = names_[name].held;
    return std::any_of(held.begin(), held.end(), [hold](const Present& one) {
      return one.who == hold && !one.kept;
    });
  });
}

bool Judge::has_room(HoldId hold, NameId name) const {
  const Wants& wants = holds_[hold].wants;
  const auto& held = names_[name].held;
  if (wants.mode == Mode::slots && held.size() >= wants.slots) return false;
  return std::all_of(held.begin(), held.end(), [&](const Present& one) {
    return fit_beside(holds_[one.who].wants, wants);
  });
}

// In all its names, or in one if that is enough, if it were the first. A hold of its own that was
// revoked before it knew of it is in its way: a late copy of its claim looks the same, and must not
// take the lock again.
bool Judge::has_room(HoldId hold) const {
  const Wants& wants = holds_[hold].wants;
  if (has_own(hold)) return false;
  const auto fits = [&](NameId name) { return has_room(hold, name); };
  return wants.one ? std::any_of(wants.names.begin(), wants.names.end(), fits)
                   : std::all_of(wants.names.begin(), wants.names.end(), fits);
}

// By when it should have entered. Nothing: it cannot, or somebody else is looked at before it.
std::optional<Duration> Judge::due(const Waiting& one) const {
  const Wants& wants = holds_[one.who].wants;
  if (!has_room(one.who)) return {};
  if (!wants.one) return due(one, wants.names);
  std::optional<Duration> first;
  for (const NameId name : wants.names) {
    if (!has_room(one.who, name)) continue;
    const auto by = due(one, {name});
    if (by) first = std::min(first.value_or(*by), *by);
  }
  return first;
}

// All of these names have room for it.
std::optional<Duration> Judge::due(const Waiting& one, const std::vector<NameId>& names) const {
  Duration from = one.since;
  Duration allowed{};
  for (const NameId name : names) {
    from = std::max(from, names_[name].moved);
    allowed = std::max(allowed, names_[name].told ? k_at_once : k_for_each_unwell);
  }
  if (!was_well(one.who, from)) return {};
  for (const NameId name : names) {
    for (const Waiting& before : names_[name].line) {
      if (before.who == one.who) break;
      const Wants& wants = holds_[before.who].wants;
      const bool several = wants.names.size() > 1 && !wants.one;
      const bool enters = has_room(before.who) && has_room(before.who, name);
      if (several || !enters || was_well(before.who, from)) return {};
      allowed += k_for_each_unwell;
    }
  }
  return from + allowed;
}

// Who asks for no place in line, as a claim that does not wait, may be passed.
void Judge::asked_for(HoldId by, bool place) {
  if (!holds_[by].asked) holds_[by].asked = agenda_.now();
  const auto same = [by](const Waiting& one) { return one.who == by; };
  if (place && std::none_of(askers_.begin(), askers_.end(), same)) {
    askers_.push_back({by, agenda_.now()});
  }
  for (const Name& name : names_) {
    for (const Waiting& one : name.line) {
      if (agenda_.now() <= due(one).value_or(Duration::max())) continue;
      blame("L3", one.who, "waits though there is room, since " + format_duration(one.since));
    }
  }
}

// It has asked before somebody else did, and wants the same: not a moment, but clearly.
void Judge::check_passed(HoldId hold, const std::vector<NameId>& granted) {
  no_longer_asks(hold);
  const Facts& facts = holds_[hold];
  const Wants got{.names = granted};
  for (const auto& [other, since] : askers_) {
    const Facts& before = holds_[other];
    if (!share_a_name(before.wants, got) || !before.may_start) continue;
    if (since + 2 * k_at_once >= facts.asked.value_or(Duration{})) continue;
    if (was_well(other, since)) blame("L5", other, "is passed by " + facts.who);
  }
}

}  // namespace dlock::sim
