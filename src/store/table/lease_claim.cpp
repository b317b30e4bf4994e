// SPDX-License-Identifier: MIT
#include "store/table/lease_claim.hpp"

#include <algorithm>
#include <utility>

namespace dlock::lease_table {

namespace {

struct Found {
  const Lease* lease = nullptr;
  const HoldRecord* record = nullptr;
  bool is_usable() const { return record != nullptr && !lease->revoked_by; }
};

Found find_hold(const StoredLock& state, const OwnerId& owner, const HoldSerial& serial) {
  const auto lease = state.leases.find(owner);
  if (lease == state.leases.end()) return {};
  const auto hold = lease->second.holds.find(serial);
  if (hold == lease->second.holds.end() || hold->second.kept) return {};
  return {&lease->second, &hold->second};
}

// Returns whether the claim relies on an ancestor's hold of this name, and that hold was lost.
bool lost_above(const StoredLock& state, const Claim& claim, const LockName& name) {
  return std::any_of(claim.ancestors.begin(), claim.ancestors.end(), [&](const auto& hold) {
    if (hold.key != name.text()) return false;
    const std::string id = hold_id(hold.owner, hold.serial);
    const bool relies =
        std::find(claim.relies_on.begin(), claim.relies_on.end(), id) != claim.relies_on.end();
    return relies && !was_released(state, id);
  });
}

// Returns a plan if this claim was granted to `owner` before, and only the answer was lost: the
// plan is to return that hold. `owner` is the claim's own or an ancestor's. A hold that was revoked
// meanwhile is not returned: the plan is to refuse, or, if the claim relies on the hold, to report
// its loss.
std::optional<Plan> again(const StoredLock& state,
                          const Claim& claim,
                          const LockName& name,
                          const OwnerId& owner) {
  const Found mine = find_hold(state, owner, claim.serial);
  if (mine.record == nullptr) return std::nullopt;
  if (!mine.is_usable())
    return Plan{.kind = lost_above(state, claim, name) ? Plan::Kind::lost : Plan::Kind::refused,
                .given_up = true};
  return Plan{Plan::Kind::again, owner, mine.record->token, mine.record->mode, mine.record->slot};
}

// Returns the mode in which the claim joins an ancestor's hold of mode `above`. nullopt: the modes
// conflict, so the claim cannot join, and would wait for its own ancestor.
std::optional<Mode> joined_mode(Mode above, std::uint32_t slots, const Claim& claim) {
  const bool wants_slot = claim.mode == Mode::slots;
  if (above == Mode::slots && wants_slot && claim.slots == slots) return Mode::slots;
  if (above == Mode::slots || wants_slot) return std::nullopt;
  if (above == Mode::plain) return Mode::plain;
  if (claim.mode == Mode::shared) return Mode::shared;
  if (above == Mode::exclusive) return Mode::exclusive;
  return std::nullopt;
}

// Returns the plan to join the nearest ancestor whose hold still exists; nullopt: no ancestor has a
// hold. An equal owner is not enough, because the ancestor with this owner may have released its
// hold, and another run of the same owner may still hold the name.
std::optional<Plan> join(const StoredLock& state, const Claim& claim) {
  for (auto hold = claim.ancestors.rbegin(); hold != claim.ancestors.rend(); ++hold) {
    const Found above = find_hold(state, hold->owner, hold->serial);
    if (!above.is_usable()) continue;
    const auto mode = joined_mode(mode_of(*above.lease), state.slots, claim);
    if (!mode) return Plan{.by_ancestor = true};
    return Plan{Plan::Kind::join, hold->owner, above.record->token, *mode, above.record->slot};
  }
  return std::nullopt;
}

std::uint32_t lowest_free_slot(const StoredLock& state) {
  std::uint32_t slot = 0;
  const auto is_taken = [&](const auto& entry) {
    return entry.second.holds.begin()->second.slot == slot;
  };
  while (std::any_of(state.leases.begin(), state.leases.end(), is_taken))
    ++slot;
  return slot;
}

// Returns the least token that a new grant may have: about the time of the clock, in case the
// stored token was lost. The grant's token is also larger than the stored token, in case the clock
// was set back.
FencingToken least_token(const Claim& claim, const Moment& moment) {
  const std::chrono::microseconds clock(std::max<std::int64_t>(moment.wall_us, 1));
  const std::chrono::microseconds proposed(claim.proposes);
  const bool close = claim.proposes != 0 && abs(proposed - clock) <= Claim::k_token_window;
  return static_cast<FencingToken>((close ? proposed : clock).count());
}

// Begins a new lease: returns the plan for its first hold, with its token and slot.
Plan begin(StoredLock& state, const Claim& claim, const Moment& moment) {
  state.token = moment.numbers_writes ? 0 : std::max(state.token + 1, least_token(claim, moment));
  Plan plan{Plan::Kind::fresh, claim.owner, state.token, claim.mode};
  if (claim.mode == Mode::slots) {
    state.slots = claim.slots;
    plan.slot = lowest_free_slot(state);
  }
  return plan;
}

}  // namespace

Plan plan_for(const StoredLock& state, const Claim& claim, const LockName& name) {
  if (auto plan = again(state, claim, name, claim.owner)) return std::move(*plan);
  for (const AncestorHold& hold : claim.ancestors) {
    if (auto plan = again(state, claim, name, hold.owner)) return std::move(*plan);
  }
  if (auto plan = join(state, claim)) return std::move(*plan);
  if (lost_above(state, claim, name)) return {.kind = Plan::Kind::lost};
  if (state.leases.contains(claim.owner)) return {.given_up = true};
  if (!has_room(state, claim.mode, claim.slots)) return {};
  if (is_first(state.line, waiter_id(claim)))
    return {.kind = Plan::Kind::fresh, .owner = claim.owner};
  return {.turn = has_room_for_first(state)};
}

const HoldRecord& carry_out(const Plan& plan,
                            StoredLock& state,
                            const Claim& claim,
                            const Moment& moment) {
  const Plan hold = plan.kind == Plan::Kind::fresh ? begin(state, claim, moment) : plan;
  Lease& lease = state.leases[hold.owner];
  extend(lease, claim.ttl, moment.now);
  return lease.holds
      .try_emplace(claim.serial,  // if the claim is repeated, this keeps the hold that exists
                   HoldRecord{.id = hold_id(hold.owner, claim.serial),
                              .who = claim.who,
                              .token = hold.token,
                              .since_ms = wall_ms(moment),
                              .ttl = claim.ttl,
                              .mode = hold.mode,
                              .slot = hold.slot})
      .first->second;
}

}  // namespace dlock::lease_table
