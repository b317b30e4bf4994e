// SPDX-License-Identifier: MIT
#include "store/table/waiting_line.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace dlock::lease_table {

namespace {

Line::iterator place_of(Line& line, const std::string& id) {
  return std::find_if(line.begin(), line.end(), [&](const Place& one) { return one.id == id; });
}

// Returns whether the claim must wait for the name: it does not hold the name, and no ancestor's
// hold refuses it.
bool waits(const Plan& plan) {
  return plan.kind == Plan::Kind::fresh || (plan.kind == Plan::Kind::refused && !plan.by_ancestor);
}

// Returns the name in whose line the claim has the best place, or would have it if it may not wait.
// If two places are equal, returns the name that the claim prefers.
Queued best_of(const States& states, const RefusedClaim& refused, bool may) {
  const std::string me = waiter_id(refused.claim);
  const std::vector<std::size_t> order = order_of(refused.claim);
  Queued best{.which = order.front()};
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t i : order) {
    const std::uint64_t place = may ? number_of(states[i]->line, me) : 0;
    const std::uint64_t would_be = place > 0 ? place : states[i]->line.size() + 1;
    if (!waits(refused.plans[i]) || would_be >= least) continue;
    least = would_be;
    best = {.which = i, .place = place};
  }
  return best;
}

constexpr std::int64_t k_last_arrival = std::numeric_limits<std::int64_t>::max() - 1;

// Returns an arrival that is after all others in each of the lines, and not before the present
// time.
std::int64_t next_arrival(const States& states, const Moment& moment) {
  std::int64_t arrival = moment.wall_us;
  for (const StoredLock* state : states) {
    if (!state->line.empty())
      arrival = std::max(arrival, std::min(state->line.back().arrival_us, k_last_arrival) + 1);
  }
  return arrival;
}

Waiter waiter_of(const Claim& claim, std::int64_t arrival_us) {
  constexpr std::int64_t k_us_per_ms = 1000;
  return {.who = claim.who,
          .since_ms = arrival_us / k_us_per_ms,
          .mode = claim.mode,
          .slots = claim.slots};
}

}  // namespace

bool is_living(const Place& place, StoreTime now) {
  // A try sets `alive_until` to k_line_life from now at most. A later time was written before the
  // clock was set back.
  return now <= place.alive_until && place.alive_until <= now + k_line_life;
}

void tidy(StoredLock& state, const Moment& moment) {
  drop_dead(state, moment.now);
  std::erase_if(state.line, [&](const Place& one) { return !is_living(one, moment.now); });
  if (!freeze_left(state, moment)) state.frozen.reset();
  if (state.frozen) keep_frozen(state, OwnerId(state.frozen->owner), moment);
}

std::uint64_t living(const Line& line, StoreTime now) {
  return static_cast<std::uint64_t>(std::count_if(
      line.begin(), line.end(), [&](const Place& one) { return is_living(one, now); }));
}

void offer(StoredLock& state, StoreTime now, const std::string& me) {
  if (state.line.empty() || state.line.front().id == me || !has_room_for_first(state)) return;
  StoreTime& alive_until = state.line.front().alive_until;
  alive_until = std::min(alive_until, now + k_turn);
}

bool turn_began(const Line& before, const Line& after) {
  if (after.empty()) return false;
  const Place& first = after.front();
  const auto old = std::find_if(
      before.begin(), before.end(), [&](const Place& one) { return one.id == first.id; });
  return old != before.end() && first.alive_until < old->alive_until;
}

const HolderInfo* superseding(const States& states, const Claim& claim) {
  const std::int64_t came = claim.who.came_ms;
  if (claim.who.supersede == Supersede::nothing) return nullptr;
  const HolderInfo* newest = nullptr;
  const auto note = [&](const HolderInfo& who) {
    if (who.supersede != Supersede::nothing) newest = &who;
  };
  for (const StoredLock* state : states) {
    const Line& line = state->line;
    const std::uint64_t place = number_of(line, waiter_id(claim));
    for (std::uint64_t i = 0; i < line.size(); ++i) {  // the index of the one behind is `place`
      const bool is_behind = place > 0 ? i >= place : came > 0 && line[i].waiter->since_ms > came;
      if (is_behind) note(line[i].waiter->who);
    }
    if (came == 0) continue;
    for (const auto& [owner, lease] : state->leases) {
      if (owner == claim.owner) continue;
      for (const auto& [serial, record] : lease.holds) {
        const std::int64_t its = record.who.came_ms > 0 ? record.who.came_ms : record.since_ms;
        if (its > came) note(record.who);
      }
    }
  }
  return newest;
}

Queued queue_up(const States& states, const RefusedClaim& refused, const Moment& moment) {
  const auto& [claim, plans, in_the_way, queueing] = refused;
  const std::string me = waiter_id(claim);
  const bool own = !claim.one_from && plans[in_the_way].by_ancestor;
  std::optional<std::size_t> full_at;
  std::size_t full = 0;
  bool has_all_places = true;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!waits(plans[i])) continue;
    Line& line = states[i]->line;
    const bool stands = number_of(line, me) > 0;
    has_all_places = has_all_places && stands;
    if (stands || own || !claim.max_waiters || line.size() < *claim.max_waiters) continue;
    ++full;
    if (!full_at && plans[i].kind != Plan::Kind::fresh) full_at = i;
  }
  const auto all = static_cast<std::size_t>(std::count_if(plans.begin(), plans.end(), waits));
  const bool may = queueing != Queueing::no && (claim.one_from ? full < all : full == 0);
  // If a silent claim has lost its place in one line, it gives up its places in all lines.
  // Otherwise two claims could be in different orders in two lines, and wait for each other for
  // ever.
  for (StoredLock* state : states) {
    if (!has_all_places && queueing != Queueing::no) drop_place(state->line, me);
    offer(*state, moment.now, me);
  }
  const std::int64_t arrival = next_arrival(states, moment);
  for (std::size_t i = 0; may && !own && i < states.size(); ++i) {
    if (!waits(plans[i])) continue;
    Line& line = states[i]->line;
    if (place_of(line, me) == line.end())
      line.push_back({.id = me,
                      .arrival_us = arrival,
                      .waiter = waiter_of(claim, arrival),
                      .several = !claim.one_from && states.size() > 1});
    place_of(line, me)->alive_until = moment.now + k_line_life;
  }
  if (claim.one_from) return best_of(states, refused, may);
  const std::size_t which = full_at.value_or(in_the_way);
  return {.which = which, .place = may ? number_of(states[which]->line, me) : 0};
}

std::string signature_of(const States& states, const Claim& claim, StoreTime now) {
  const std::string me = waiter_id(claim);
  std::string all;
  for (StoredLock* state : states) {
    all += std::to_string(number_of(state->line, me)) + ' ';
    all += has_room(*state, claim.mode, claim.slots) ? "room " : "- ";
    if (!state->line.empty()) {
      const Place& first = state->line.front();
      all += first.id + (has_room_for_first(*state) ? '+' : '-');
      // After each try it counts as alive for longer, so this is a turn that it must take.
      if (first.id == me && first.alive_until <= now + k_turn) all += " turn";
    }
    all += '\n';
  }
  return all;
}

std::string predecessor_of(const States& states, const Claim& claim) {
  if (claim.one_from) return {};
  const std::string me = waiter_id(claim);
  for (const StoredLock* state : states) {
    const std::uint64_t place = number_of(state->line, me);
    if (place > 1) return state->line[place - 2].id;
    if (place == 0 || has_room(*state, claim.mode, claim.slots)) continue;
    const bool any_of_several = claim.mode == Mode::slots && state->leases.size() > 1;
    if (state->leases.empty() || any_of_several) return {};
    const auto& holds = state->leases.begin()->second.holds;
    // The hold that began first is that of the run around the others, and ends last.
    const auto first =
        std::min_element(holds.begin(), holds.end(), [](const auto& a, const auto& b) {
          return a.second.since_ms < b.second.since_ms;
        });
    return first == holds.end() ? std::string() : first->second.id;
  }
  return {};
}

Sight look_from_line(const States& states, const Claim& claim, const Moment& moment) {
  const std::string me = waiter_id(claim);
  Sight sight;
  const auto note = [&](StoreTime end) { sight.again = std::min(sight.again.value_or(end), end); };
  for (StoredLock* state : states) {
    for (const auto& [owner, lease] : state->leases)
      note(lease.expires);
    if (state->foreign)
      note(std::min(state->foreign->until.value_or(StoreTime::max()), moment.now + k_foreign_look));
    if (const auto left = freeze_left(*state, moment)) note(moment.now + *left);
    const std::uint64_t place = number_of(state->line, me);
    if (place == 0) continue;
    if (sight.place == 0 || (claim.one_from && place < sight.place)) sight.place = place;
    if (place > 2 || !has_room_for_first(*state)) continue;
    const StoreTime turn_ends = state->line.front().alive_until;
    if (place == 2) {
      note(turn_ends + Duration(1));
      if (sight.what == HandOff::timed_out) sight.what = HandOff::next;
    } else {
      sight.what = HandOff::turn;
    }
  }
  return sight;
}

}  // namespace dlock::lease_table
