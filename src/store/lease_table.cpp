// SPDX-License-Identifier: MIT
#include "store/lease_table.hpp"

#include "base/text.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock::lease_table {

namespace {

constexpr std::int64_t k_us_per_ms = 1000;

HoldRecord new_record(const OwnerId& owner,
                      const Claim& claim,
                      FencingToken token,
                      const Moment& moment) {
  return {.id = hold_id(owner, claim.serial),
          .who = claim.who,
          .token = token,
          .since_ms = moment.wall_us / k_us_per_ms,
          .ttl = claim.ttl};
}

void extend(LeaseState& state, Duration ttl, Time now) {
  state.expires = std::max(state.expires, now + ttl);
}

// An earlier attempt of this very claim may have been granted to us or, nested, to an ancestor.
bool may_be_owner_of(const Claim& claim, const OwnerId& owner) {
  return owner == claim.owner ||
         std::any_of(claim.ancestors.begin(), claim.ancestors.end(), [&](const AncestorHold& hold) {
           return hold.owner == owner;
         });
}

// The nearest ancestor whose own hold still lives. That the owner is still there is not enough: an
// ancestor that has released no longer protects what its late descendants do.
const HoldRecord* living_ancestor(const LeaseState& state, const Claim& claim) {
  for (auto hold = claim.ancestors.rbegin(); hold != claim.ancestors.rend(); ++hold) {
    if (hold->owner != state.owner) continue;
    const auto found = state.holds.find(hold->serial);
    if (found != state.holds.end()) return &found->second;
  }
  return nullptr;
}

Grant grant(const LeaseState& state, const Claim& claim, const HoldRecord& record, Time sent_at) {
  Hold hold{.name = claim.name,
            .owner = state.owner,
            .serial = claim.serial,
            .token = record.token,
            .since_ms = record.since_ms,
            .ttl = claim.ttl,
            .who = claim.who,
            .nested = state.owner != claim.owner};
  return {std::move(hold), sent_at};
}

Grant grant_new_lease(LeaseState& state, const Claim& claim, const Moment& moment) {
  make_free(state);
  // The clock keeps tokens growing when the stored one was lost, the stored one when the clock
  // goes back.
  const auto clock = static_cast<FencingToken>(std::max<std::int64_t>(moment.wall_us, 1));
  state.token = std::max(state.token + 1, clock);
  state.owner = claim.owner;
  state.expires = moment.now + claim.ttl;
  const auto& record = state.holds[claim.serial] =
      new_record(state.owner, claim, state.token, moment);
  return grant(state, claim, record, moment.sent_at);
}

// Who stands in the way, for a sentence: "alice@db1 pid 42 holds it".
std::string holder_text(const LeaseState& state) {
  if (state.holds.empty()) return printable(state.owner) + " holds it";
  return who_text(state.holds.begin()->second.who) + " holds it";
}

}  // namespace

Moment moment_since(Time sent_at) {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {.sent_at = sent_at,
          .now = BootClock::now(),
          .wall_us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count()};
}

bool is_live(const LeaseState& state, Time now) {
  return !state.owner.empty() && now < state.expires;
}

void make_free(LeaseState& state) {
  state.owner.clear();
  state.holds.clear();
  state.expires = Time();
  state.revoked_by.reset();
}

AcquireReply acquire(LeaseState& state, const Claim& claim, const Moment& moment) {
  if (!is_live(state, moment.now)) return grant_new_lease(state, claim, moment);
  if (state.revoked_by) return inspect(state, moment);
  const auto replayed = state.holds.find(claim.serial);
  if (replayed != state.holds.end() && may_be_owner_of(claim, state.owner)) {
    extend(state, claim.ttl, moment.now);
    return grant(state, claim, replayed->second, moment.sent_at);
  }
  const HoldRecord* ancestor = living_ancestor(state, claim);
  if (ancestor == nullptr || replayed != state.holds.end()) return inspect(state, moment);
  const auto& record = state.holds[claim.serial] =
      new_record(state.owner, claim, ancestor->token, moment);
  extend(state, claim.ttl, moment.now);
  return grant(state, claim, record, moment.sent_at);
}

RenewReply check(const LeaseState& state, const Hold& hold, const Moment& moment) {
  const bool ours = state.owner == hold.owner && !hold.owner.empty();
  if (!is_live(state, moment.now)) {
    return {RenewVerdict::lost, moment.sent_at, ours ? "the lease has ended" : "nobody holds it"};
  }
  if (!ours) return {RenewVerdict::lost, moment.sent_at, holder_text(state)};
  if (state.revoked_by) return {RenewVerdict::revoked, moment.sent_at, *state.revoked_by};
  return {RenewVerdict::held, moment.sent_at, {}};
}

RenewReply renew(LeaseState& state, const Hold& hold, const Moment& moment) {
  RenewReply reply = check(state, hold, moment);
  if (reply.verdict != RenewVerdict::held) return reply;
  extend(state, hold.ttl, moment.now);
  reply.verdict = RenewVerdict::renewed;
  return reply;
}

ReleaseVerdict release(LeaseState& state, const Hold& hold, const Moment& moment) {
  if (!is_live(state, moment.now) || state.owner != hold.owner) return ReleaseVerdict::not_held;
  if (state.holds.erase(hold.serial) == 0) return ReleaseVerdict::not_held;
  if (!state.holds.empty()) return ReleaseVerdict::still_held;
  make_free(state);
  return ReleaseVerdict::released;
}

RevokeReply revoke(LeaseState& state, const RevokeOrder& order, const Moment& moment) {
  RevokeReply reply{.verdict = RevokeVerdict::nothing, .before = inspect(state, moment)};
  if (!is_live(state, moment.now)) return reply;
  if ((order.if_owner && *order.if_owner != state.owner) ||
      (order.if_token && *order.if_token != state.token)) {
    reply.verdict = RevokeVerdict::other_holder;
  } else if (order.now) {
    make_free(state);
    reply.verdict = RevokeVerdict::deleted;
  } else {
    state.revoked_by = order.by;
    reply.verdict = RevokeVerdict::revoked;
  }
  return reply;
}

Holding inspect(const LeaseState& state, const Moment& moment) {
  Holding holding;
  holding.now_ms = moment.wall_us / k_us_per_ms;
  if (!is_live(state, moment.now)) return holding;
  holding.kind = Holding::Kind::lock;
  holding.type = "lease";
  holding.owners.push_back({state.owner, std::to_string(state.holds.size())});
  holding.owner_count = 1;
  for (const auto& [serial, record] : state.holds)
    holding.holds.push_back(record);
  holding.lease_left = state.expires - moment.now;
  holding.revoked_by = state.revoked_by.value_or("");
  return holding;
}

bool glob_matches(std::string_view glob, std::string_view name) {
  return ::fnmatch(std::string(glob).c_str(), std::string(name).c_str(), 0) == 0;
}

}  // namespace dlock::lease_table
