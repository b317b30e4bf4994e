// SPDX-License-Identifier: MIT
// The lines of a ModelStore. A claim of several names stands in the lines of all of them, with one
// life; it enters when it is the first in each and there is room for it in each.
#include <algorithm>

#include "sim/model_store.hpp"

namespace dlock::sim {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_silence = 10s;  // after which a waiter is taken for dead
constexpr Duration k_turn = 1s;
}  // namespace

std::vector<HoldId> ModelStore::firsts() const {
  std::vector<HoldId> all;
  for (const Lock& lock : locks_)
    if (!lock.line.empty()) all.push_back(lock.line.front());
  return all;
}

std::size_t ModelStore::place(NameId name, HoldId hold) const {
  const auto& line = locks_[name].line;
  const auto found = std::find(line.begin(), line.end(), hold);
  return found == line.end() ? 0 : static_cast<std::size_t>(found - line.begin()) + 1;
}

bool ModelStore::is_first(NameId name, HoldId hold) const {
  const auto& line = locks_[name].line;
  return line.empty() || line.front() == hold;
}

bool ModelStore::may_enter(HoldId hold, const Wants& wants, NameId name) const {
  const bool passes = !readers_wait && wants.mode == Mode::shared;
  return (passes || is_first(name, hold)) && has_room(name, hold, wants);
}

bool ModelStore::may_enter(HoldId hold, const Wants& wants) const {
  const auto enters = [&](NameId name) { return may_enter(hold, wants, name); };
  if (!all_or_none) return enters(wants.names.front());
  return std::all_of(wants.names.begin(), wants.names.end(), enters);
}

// By what is free at this name. Who waits for several, and needs all, has its turn in all or none.
bool ModelStore::is_turn_of(HoldId waiter, NameId name) const {
  const Wants& wants = waiters_.at(waiter).wants;
  return wants.one ? may_enter(waiter, wants, name) : may_enter(waiter, wants);
}

void ModelStore::leave(HoldId hold) {
  look();
  const auto found = waiters_.find(hold);
  if (found == waiters_.end()) return;
  const Wants wants = found->second.wants;
  step_out(hold);
  judge_.left_line(hold);
  if (turns_passed_on) call_next_of(wants);
}

void ModelStore::stand(HoldId hold, const Wants& wants, bool polls) {
  if (!waiters_.contains(hold)) {
    for (const NameId name : wants.names)
      locks_[name].line.push_back(hold);
    judge_.stood(hold);
  }
  waiters_[hold] = {.wants = wants, .polls = polls, .lives_until = now() + k_silence};
}

void ModelStore::step_out(HoldId hold) {
  for (Lock& lock : locks_)
    std::erase(lock.line, hold);
  waiters_.erase(hold);
}

void ModelStore::drop(HoldId hold, const char* why) {
  judge_.lost_place(hold, why);
  step_out(hold);
}

void ModelStore::forget_silent() {
  std::vector<HoldId> silent;
  for (const auto& [who, waiter] : waiters_)
    if (waiter.lives_until < now()) silent.push_back(who);
  for (const HoldId who : silent)
    drop(who, "by silence");
}

void ModelStore::call_next_of(const Wants& wants, std::optional<HoldId> asker) {
  for (const NameId name : wants.names)
    call_next(name, asker);
}

// The first has its turn, for a second, if it is one in all that it waits for; the one behind it
// comes by itself after that. Whoever does not listen is dead, but not who asks just now.
void ModelStore::call_next(NameId name, std::optional<HoldId> asker) {
  forget_silent();
  auto& line = locks_[name].line;
  for (std::size_t at = 0; at < 2 && at < line.size();) {
    if (at == 0 && !is_turn_of(line[0], name)) return;
    const HoldId who = line[at];
    Waiter& waiter = waiters_[who];
    const bool has_turn = line.size() == 1 || (at == 0) == first_is_called;
    if (!call(who, has_turn ? HandOff::turn : HandOff::next) && !waiter.polls && who != asker) {
      const Wants wants = waiter.wants;
      drop(who, "as it did not listen");
      for (const NameId other : wants.names)
        if (other != name) call_next(other, asker);
      continue;
    }
    if (has_turn) waiter.lives_until = std::min(waiter.lives_until, now() + k_turn);
    ++at;
  }
}

}  // namespace dlock::sim
