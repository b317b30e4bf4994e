// SPDX-License-Identifier: MIT
#include "sim/model_store.hpp"

#include "base/duration.hpp"

#include <algorithm>

namespace dlock::sim {

using namespace std::chrono_literals;

// In whole milliseconds of its clock, as Redis counts, and rounded against us.
Time ModelStore::end_of(Duration ttl) const {
  return std::chrono::floor<std::chrono::milliseconds>(now()) + ttl;
}

// Each lease ends by itself, whoever else holds the name.
void ModelStore::look() {
  for (NameId name = 0; name < k_names; ++name) {
    const auto over = [this](const Present& one) { return now() >= one.expires; };
    auto& held = locks_[name].held;
    for (;;) {
      const auto one = std::find_if(held.begin(), held.end(), over);
      if (one == held.end()) break;
      const HoldId who = one->who;
      const bool kept = one->kept;
      const Duration ended = std::clamp(clock_.truly(one->expires), looked_at_, agenda_.now());
      held.erase(one);
      kept ? judge_.keep_over(who, name, ended) : judge_.lapsed(who, name, ended);
      trace_.note(agenda_.now(), [&] {
        return "store: the lease of " + judge_.who(who) + " of " + name_text(name) + " ended";
      });
      on_change(name, {}, false);
    }
  }
  looked_at_ = agenda_.now();
}

ModelStore::Present* ModelStore::present(NameId name, HoldId hold) {
  for (Present& one : locks_[name].held)
    if (one.who == hold && !one.kept) return &one;
  return nullptr;
}

// Who is in there already by an earlier try, in part or revoked, does not come in once more.
bool ModelStore::has_room(NameId name, HoldId hold, const Wants& wants) const {
  const auto& held = locks_[name].held;
  const bool slots = wants.mode == Mode::slots;
  if (slots && held.size() >= wants.slots + (slots_counted ? 0U : 1U)) return false;
  return std::all_of(held.begin(), held.end(), [&](const Present& one) {
    if (one.who == hold && !one.kept) return false;
    const bool ignored = !writers_alone && one.wants.mode == Mode::shared;
    return ignored || fit_beside(one.wants, wants);
  });
}

std::uint32_t ModelStore::free_slot(NameId name) const {
  const auto& held = locks_[name].held;
  std::uint32_t slot = 0;
  const auto has_it = [&](const Present& one) { return one.slot == slot; };
  while (slots_told_apart && std::any_of(held.begin(), held.end(), has_it))
    ++slot;
  return slot;
}

// Of all the names: how long ago it was for that of which it is longest.
std::optional<Duration> ModelStore::success_ago(const Wants& wants) const {
  if (wants.once_per == 0ns) return {};
  Duration longest{};
  for (const NameId name : wants.names) {
    const auto success = locks_[name].success;
    if (!success || now() - *success >= wants.once_per) return {};
    longest = std::max(longest, now() - *success);
  }
  return longest;
}

std::optional<Taken> ModelStore::replayed(HoldId hold, const Wants& wants, Duration ttl) {
  Taken taken{.names = wants.names};
  for (const NameId name : wants.names) {
    const Present* const one = present(name, hold);
    if (one == nullptr || one->revoked) return {};
    taken.tokens.push_back(locks_[name].token);
    taken.slots.push_back(one->slot);
  }
  for (const NameId name : wants.names) {
    Present& one = *present(name, hold);
    if (replay_extends) one.expires = std::max(one.expires, end_of(ttl));
  }
  step_out(hold);
  return taken;
}

Taken ModelStore::take(HoldId hold, const Wants& wants, Duration ttl) {
  Taken taken{.names = wants.names};
  const auto clock_us = std::chrono::floor<std::chrono::microseconds>(now()).time_since_epoch();
  for (const NameId name : wants.names) {
    Lock& lock = locks_[name];
    lock.token = std::max(lock.token + 1, static_cast<FencingToken>(clock_us.count()));
    const std::uint32_t slot = free_slot(name);
    taken.tokens.push_back(lock.token);
    taken.slots.push_back(wants.mode == Mode::slots ? std::optional(slot) : std::nullopt);
    if (!all_or_none && name != wants.names.front() && !has_room(name, hold, wants)) continue;
    lock.held.push_back(
        {.who = hold, .wants = wants, .expires = end_of(ttl), .granted = now(), .slot = slot});
  }
  judge_.granted(hold, taken);
  step_out(hold);
  for (const NameId name : wants.names)
    on_change(name, hold, false);
  call_next_of(wants);
  return taken;
}

ModelStore::Reply ModelStore::acquire(HoldId hold, const Wants& wants, Duration ttl, Queueing how) {
  look();
  judge_.asked_for(hold, how != Queueing::no);
  if (const auto ago = success_ago(wants)) {
    leave(hold);
    return Done{*ago};
  }
  if (wants.one) {
    if (auto taken = taken_one(hold, wants, ttl)) return *taken;
  } else {
    if (auto taken = replayed(hold, wants, ttl)) return *taken;
    forget_silent();
    if (!may_enter(hold, wants)) call_next_of(wants, hold);
    if (may_enter(hold, wants)) return take(hold, wants, ttl);
  }
  if (how != Queueing::no) stand(hold, wants, how == Queueing::polling);
  Refusal refusal = wants.one ? none_of(hold, wants) : in_the_way(hold, wants);
  if (how == Queueing::no) refusal.place = 0;
  return refusal;
}

// What is seen of the first of its names that it cannot have.
Refusal ModelStore::in_the_way(HoldId hold, const Wants& wants) const {
  Refusal refusal;
  for (const NameId name : wants.names) {
    const Lock& lock = locks_[name];
    const bool room = has_room(name, hold, wants);
    if (room && is_first(name, hold)) continue;
    if (!lock.held.empty()) refusal.holding.kind = Holding::Kind::lock;
    refusal.holding.waiting = lock.line.size();
    refusal.place = place(name, hold);
    if (room && is_turn_of(lock.line.front(), name)) {
      refusal.turn_left = waiters_.at(lock.line.front()).lives_until - now();
    }
    if (room) break;
    refusal.holding.lease_left = lease_left(name, wants);
    break;
  }
  return refusal;
}

// Returns the time until the leases that have ended make room for the claim, if no holder releases
// the lock.
Duration ModelStore::lease_left(NameId name, const Wants& wants) const {
  const auto& held = locks_[name].held;
  const bool one_is_enough = fit_beside(held.front().wants, wants);
  Time ends = held.front().expires;
  for (const Present& one : held)
    ends = one_is_enough ? std::min(ends, one.expires) : std::max(ends, one.expires);
  return ends - now();
}

// One of the names: that which it has already, else the first into which it may. Who had one that
// was revoked gets no other.
std::optional<Taken> ModelStore::taken_one(HoldId hold, const Wants& wants, Duration ttl) {
  const auto alone = [&](NameId name) {
    Wants one = wants;
    one.names = {name};
    return one;
  };
  bool has_one = false;
  for (const NameId name : wants.names) {
    if (present(name, hold) == nullptr || !one_suffices) continue;
    has_one = true;
    if (auto taken = replayed(hold, alone(name), ttl)) return taken;
  }
  forget_silent();
  if (has_one) return {};
  call_next_of(wants, hold);
  for (const NameId name : wants.names) {
    if (!may_enter(hold, wants, name)) continue;
    const bool stood = waiters_.contains(hold);
    Taken taken = take(hold, alone(name), ttl);
    if (stood) call_next_of(wants);
    return taken;
  }
  return {};
}

// What is seen of that line in which it is foremost.
Refusal ModelStore::none_of(HoldId hold, const Wants& wants) const {
  Refusal refusal;
  std::size_t least = 0;
  for (const NameId name : wants.names) {
    const Lock& lock = locks_[name];
    const bool room = has_room(name, hold, wants);
    if (room && !lock.line.empty() && is_turn_of(lock.line.front(), name)) {
      const Duration left = waiters_.at(lock.line.front()).lives_until - now();
      refusal.turn_left = std::min(refusal.turn_left.value_or(left), left);
    }
    const std::size_t stands = place(name, hold);
    const std::size_t would = stands > 0 ? stands : lock.line.size() + 1;
    if (least > 0 && would >= least) continue;
    least = would;
    refusal.place = stands;
    refusal.holding = {.kind = lock.held.empty() ? Holding::Kind::none : Holding::Kind::lock};
    refusal.holding.waiting = lock.line.size();
    if (!room && !lock.held.empty()) refusal.holding.lease_left = lease_left(name, wants);
  }
  return refusal;
}

// Owners are known by their number; what is only kept has no owner that could be revoked.
Holding ModelStore::inspect(NameId name) {
  look();
  const Lock& lock = locks_[name];
  Holding holding{.kind = lock.held.empty() ? Holding::Kind::none : Holding::Kind::lock};
  for (const Present& one : lock.held) {
    const Duration left = one.expires - now();
    holding.owners.push_back({.id = std::to_string(one.who) + (one.kept ? "#kept" : ""),
                              .count = "1",
                              .lease_left = left});
    holding.lease_left = std::max(holding.lease_left.within().value_or(left), left);
    if (one.revoked) holding.revoked_by = "somebody";
  }
  holding.owner_count = holding.owners.size();
  for (const HoldId waiter : lock.line)
    if (waiters_.at(waiter).lives_until >= now()) ++holding.waiting;
  return holding;
}

RenewReply ModelStore::check(HoldId hold, const Wants& wants) {
  look();
  std::size_t ours = 0;
  bool revoked = false;
  for (const NameId name : wants.names) {
    const Present* const one = present(name, hold);
    ours += one == nullptr ? 0 : 1;
    revoked = revoked || (one != nullptr && one->revoked);
  }
  RenewReply reply{.verdict = revoked ? RenewVerdict::revoked : RenewVerdict::held};
  if (ours < wants.names.size()) reply.verdict = RenewVerdict::lost;
  reply.some_left = ours > 0 && reply.verdict == RenewVerdict::lost;
  return reply;
}

RenewReply ModelStore::renew(HoldId hold, const Wants& wants, Duration ttl) {
  judge_.asked_to_renew(hold);
  RenewReply reply = check(hold, wants);
  if (reply.verdict != RenewVerdict::held) return reply;
  for (const NameId name : wants.names) {
    Present& one = *present(name, hold);
    one.expires = std::max(one.expires, end_of(ttl));
    on_change(name, hold, false);
  }
  reply.verdict = RenewVerdict::renewed;
  return reply;
}

ReleaseVerdict ModelStore::release(HoldId hold, const Wants& wants, const ReleaseOptions& options) {
  look();
  std::vector<NameId> ours;
  const bool kept = options.keep > 0ns && keeps;
  for (const NameId name : wants.names) {
    Present* const one = present(name, hold);
    if (one == nullptr) continue;
    ours.push_back(name);
    if (options.tell_for > 0ns) {
      judge_.told_of_success(hold, name);
      if (remembers_success) locks_[name].success = one->granted;
    }
    one->kept = kept;
    one->expires = now() + options.keep;
    one->expires_on_replica = one->expires;
    const auto is_it = [hold](const Present& each) { return each.who == hold && !each.kept; };
    std::erase_if(locks_[name].held, is_it);
  }
  if (ours.empty()) return ReleaseVerdict::not_held;
  judge_.released(hold, kept);
  for (const NameId name : ours) {
    on_change(name, hold, true);
    call_next(name);
  }
  return ours.size() == wants.names.size() ? ReleaseVerdict::released : ReleaseVerdict::not_held;
}

// --- others ----------------------------------------------------------------------------------

// Nobody runs under what is kept, so it can go at once.
void ModelStore::revoke(NameId name) {
  look();
  auto& held = locks_[name].held;
  for (Present& one : held) {
    one.revoked = true;
    judge_.revoked(one.who);
    if (one.kept) judge_.keep_over(one.who, name, agenda_.now());
  }
  std::erase_if(held, [](const Present& one) { return one.kept; });
  on_change(name, {}, false);
  call_next(name);
}

void ModelStore::remove(NameId name, bool told) {
  look();
  auto& held = locks_[name].held;
  if (held.empty()) return;
  for (const Present& one : held)
    one.kept ? judge_.keep_over(one.who, name, agenda_.now()) : judge_.taken_away(one.who, name);
  held.clear();
  on_change(name, {}, told);
  if (told) call_next(name);
}

void ModelStore::forget() {
  for (NameId name = 0; name < k_names; ++name) {
    remove(name, false);
    locks_[name] = {};
  }
  waiters_.clear();
  judge_.line_forgotten();
}

void ModelStore::step_clock(Duration forward) {
  look();
  clock_.step(forward);
}

void ModelStore::copy() {
  for (Lock& lock : locks_) {
    lock.token_on_replica = lock.token;
    for (Present& one : lock.held)
      one.expires_on_replica = one.expires;
  }
}

void ModelStore::promote() {
  look();
  for (NameId name = 0; name < k_names; ++name) {
    Lock& lock = locks_[name];
    for (Present& one : lock.held) {
      if (!one.expires_on_replica) judge_.taken_away(one.who, name);
      one.expires = one.expires_on_replica.value_or(one.expires);
    }
    std::erase_if(lock.held, [](const Present& one) { return !one.expires_on_replica; });
    lock.token = lock.token_on_replica;
    judge_.newest_token(name, lock.token);
  }
}

std::vector<HoldId> ModelStore::holders() {
  look();
  std::vector<HoldId> all;
  for (const Lock& lock : locks_)
    for (const Present& one : lock.held)
      if (!one.kept) all.push_back(one.who);
  return all;
}

std::vector<HoldId> ModelStore::holders_of(NameId name) {
  look();
  std::vector<HoldId> all;
  for (const Present& one : locks_[name].held)
    if (!one.kept) all.push_back(one.who);
  return all;
}

bool ModelStore::is_free(NameId name) {
  look();
  const auto& line = locks_[name].line;
  return locks_[name].held.empty() && std::none_of(line.begin(), line.end(), [this](HoldId one) {
           return waiters_.at(one).lives_until >= now();
         });
}

bool ModelStore::holds(HoldId hold) {
  const auto all = holders();
  return std::find(all.begin(), all.end(), hold) != all.end();
}

}  // namespace dlock::sim
