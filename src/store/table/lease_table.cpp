// SPDX-License-Identifier: MIT
#include "store/table/lease_table.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "store/table/lease_choice.hpp"
#include "store/table/lease_claim.hpp"
#include "store/table/lease_holding.hpp"
#include "store/table/waiting_line.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace dlock::lease_table {

namespace {

// Returns how long ago the last success was granted; nullopt: there is no success, or none recent
// enough to keep this claim (--once-per) from running.
std::optional<Duration> done_ago(const StoredLock& state,
                                 const Claim& claim,
                                 const Moment& moment) {
  if (!state.success || wall_ms(moment) >= state.success->until_ms) return std::nullopt;
  const std::chrono::milliseconds ago(wall_ms(moment) - state.success->since_ms);
  // A success that is far in the future was written before the clock was set back. It proves
  // nothing.
  if (std::chrono::abs(ago) >= claim.once_per) return std::nullopt;
  return std::max(ago, std::chrono::milliseconds(0));
}

// Returns Done if all names have a recent success, so that the claim need not run. Returns nullopt
// if a name has none, or if this claim or an ancestor already holds a name.
std::optional<Done> done_before(const States& states,
                                const std::vector<Plan>& plans,
                                const Claim& claim,
                                const Moment& moment) {
  Done done;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Plan& plan = plans[i];
    const bool ours = plan.kind == Plan::Kind::again || plan.kind == Plan::Kind::join;
    const auto ago = done_ago(*states[i], claim, moment);
    if (!ago || ours || plan.by_ancestor) return std::nullopt;
    done.ago = std::max(done.ago, *ago);
  }
  return done;
}

// Returns the index of the first name that is refused. A name that an ancestor's hold refuses is
// returned before any other, because waiting cannot help there.
std::optional<std::size_t> first_refused(const std::vector<Plan>& plans) {
  std::optional<std::size_t> refused;
  for (std::size_t i = plans.size(); i-- > 0;) {
    const bool harder = !refused || plans[i].by_ancestor || !plans[*refused].by_ancestor;
    if (plans[i].kind == Plan::Kind::refused && harder) refused = i;
  }
  return refused;
}

void drop_frozen(StoredLock& state) {
  std::erase_if(state.leases, [](const auto& entry) { return is_of_freeze(entry.second); });
  state.frozen.reset();
}

// --- our holds ----------------------------------------------------------------------------------

// Records the run's processes, if the hold says them.
void note_processes(Lease& lease, const Hold& hold) {
  const auto record = lease.holds.find(hold.serial);
  if (hold.who.group == 0 || record == lease.holds.end()) return;
  record->second.who.machine = hold.who.machine;
  record->second.who.guard = hold.who.guard;
  record->second.who.group = hold.who.group;
}

RenewReply check_one(const StoredLock& state, const Hold& hold, const Moment& moment) {
  RenewReply reply{.verdict = RenewVerdict::held, .sent_at = moment.sent_at};
  const auto found = state.leases.find(hold.owner);
  const bool ours =
      found != state.leases.end() && !is_kept(found->second) && is_live(found->second, moment.now);
  if (!ours) {
    reply.verdict = RenewVerdict::lost;
    reply.holding = inspect(state, moment);
    reply.released = was_released(state, hold_id(hold.owner, hold.serial));
  } else if (found->second.revoked_by) {
    reply.verdict = RenewVerdict::revoked;
    reply.revoked_by = *found->second.revoked_by;
  }
  return reply;
}

void remember(StoredLock& state, std::int64_t since_ms, Duration tell_for, const Moment& moment) {
  const bool is_over = state.success && wall_ms(moment) >= state.success->until_ms;
  if (!state.success || is_over) state.success = Success{};
  auto& [since, until] = *state.success;
  since = std::max(since, since_ms);
  until = std::max<std::int64_t>(until, since_ms + to_ms(tell_for));
}

// Notes how the run of the record ended.
void note_end(StoredLock& state,
              const HoldRecord& record,
              const RunEnd& end,
              const Moment& moment) {
  const bool remembered = state.last && wall_ms(moment) < state.last->until_ms;
  const FencingToken before = remembered ? state.last->newest : 0;
  const std::int64_t ended =
      end.held ? record.since_ms + to_ms(*end.held) : std::max(wall_ms(moment), record.since_ms);
  state.last = LastNote{.run = {.who = record.who,
                                .token = record.token,
                                .since_ms = record.since_ms,
                                .ended_ms = ended,
                                .outcome = end.outcome,
                                .exit_status = end.exit_status,
                                .signal = end.signal,
                                .waited = end.waited},
                        .newest = std::max(before, record.token),
                        .until_ms = ended + to_ms(end.keep)};
}

ReleaseVerdict release_one(StoredLock& state,
                           const Hold& hold,
                           const ReleaseOptions& options,
                           const Moment& moment) {
  const auto found = state.leases.find(hold.owner);
  if (found == state.leases.end()) return ReleaseVerdict::not_held;
  Lease& lease = found->second;
  if (!is_live(lease, moment.now) || is_kept(lease)) return ReleaseVerdict::not_held;
  auto node = lease.holds.extract(hold.serial);
  if (node.empty()) return ReleaseVerdict::not_held;
  HoldRecord& record = node.mapped();
  if (options.tell_for > Duration::zero())
    remember(state, record.since_ms, options.tell_for, moment);
  if (is_of_acquire(hold.serial)) note_release(state, record.id, moment);
  if (!lease.holds.empty()) return ReleaseVerdict::still_held;
  if (options.end) note_end(state, record, *options.end, moment);
  const Freeze freeze = freeze_of(state, moment).value_or(Freeze{});
  // A freeze that lasts longer keeps the lock anyway, once its last lease is gone.
  if (options.keep > Duration::zero() && options.keep >= freeze.left && !hold.nested) {
    record.id = hold_id(hold.owner, k_kept);
    record.kept = true;
    lease = {.holds = {{k_kept, std::move(record)}},
             .expires = moment.now + options.keep,
             .revoked_by = {}};
  } else {
    state.leases.erase(found);
    drop_dead(state, moment.now);
    keep_frozen(state, hold.owner, moment);
  }
  return ReleaseVerdict::released;
}

bool is_meant(const RevokeOrder& order, const OwnerId& owner, const Lease& lease) {
  if (order.if_owner && *order.if_owner != owner) return false;
  return !order.if_token ||
         std::any_of(lease.holds.begin(), lease.holds.end(), [&](const auto& hold) {
           return hold.second.token == *order.if_token;
         });
}

}  // namespace

Result<AcquireReply> acquire(const States& states,
                             const Claim& claim,
                             const Moment& moment,
                             Queueing queueing) {
  const std::string me = waiter_id(claim);
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < states.size(); ++i) {
    tidy(*states[i], moment);
    plans.push_back(plan_for(*states[i], claim, claim.names[i]));
  }
  for (const std::size_t i : order_of(claim)) {
    if (plans[i].kind == Plan::Kind::lost) return lost_above(claim.names[i]);
  }
  if (claim.one_from) return acquire_one(states, claim, std::move(plans), moment, queueing);
  if (const auto done = done_before(states, plans, claim, moment)) {
    leave(states, claim, moment);
    return AcquireReply(*done);
  }
  if (const HolderInfo* const newer = superseding(states, claim)) {
    Refusal refusal{.superseded_by = *newer};
    leave(states, claim, moment);
    return AcquireReply(std::move(refusal));
  }
  if (const auto refused = first_refused(plans)) {
    const Queued queued = queue_up(states, {claim, plans, *refused, queueing}, moment);
    StoredLock& state = *states[queued.which];
    Refusal refusal{.holding = in_the_way(state, claim, moment),
                    .which = queued.which,
                    .place = queued.place,
                    .by_ancestor = plans[*refused].by_ancestor};
    if (plans[queued.which].turn) refusal.turn_left = state.line.front().alive_until - moment.now;
    return AcquireReply(std::move(refusal));
  }
  Grant grant{.holds = {}, .sent_at = moment.sent_at};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const HoldRecord& record = carry_out(plans[i], *states[i], claim, moment);
    grant.holds.push_back(hold_of(claim, i, plans[i].owner, record));
    drop_place(states[i]->line, me);
    offer(*states[i], moment.now);  // the next waiter may have room as well
  }
  return AcquireReply(std::move(grant));
}

void leave(const States& states, const Claim& claim, const Moment& moment) {
  for (StoredLock* state : states) {
    tidy(*state, moment);
    drop_place(state->line, waiter_id(claim));
    offer(*state, moment.now);
  }
}

RenewReply check(const States& states, const Holds& holds, const Moment& moment) {
  RenewReply reply{.verdict = RenewVerdict::held, .sent_at = moment.sent_at};
  std::size_t lost = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    RenewReply one = check_one(*states[i], holds[i], moment);
    one.which = i;
    // A loss counts more than a revocation. Of two losses or two revocations, the first one is
    // reported.
    if (one.verdict == RenewVerdict::lost && ++lost > 1) continue;
    if (one.verdict == RenewVerdict::revoked && reply.verdict != RenewVerdict::held) continue;
    if (one.verdict != RenewVerdict::held) reply = std::move(one);
  }
  reply.some_left = lost > 0 && lost < states.size();
  return reply;
}

RenewReply renew(const States& states, const Holds& holds, const Moment& moment) {
  RenewReply reply = check(states, holds, moment);
  if (reply.verdict != RenewVerdict::held) return reply;
  for (std::size_t i = 0; i < states.size(); ++i) {
    Lease& lease = states[i]->leases.at(holds[i].owner);
    extend(lease, holds[i].ttl, moment.now);
    note_processes(lease, holds[i]);
  }
  reply.verdict = RenewVerdict::renewed;
  return reply;
}

bool raise(const States& states, const Holds& holds, const Moment& moment) {
  std::vector<HoldRecord*> records;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto lease = states[i]->leases.find(holds[i].owner);
    if (lease == states[i]->leases.end() || !is_live(lease->second, moment.now)) return false;
    const auto record = lease->second.holds.find(holds[i].serial);
    if (record == lease->second.holds.end()) return false;
    records.push_back(&record->second);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    records[i]->token = holds[i].token;
    records[i]->since_ms = holds[i].since_ms;
    states[i]->token = std::max(states[i]->token, holds[i].token);
  }
  return true;
}

ReleaseVerdict release(const States& states,
                       const Holds& holds,
                       const ReleaseOptions& options,
                       const Moment& moment) {
  static_assert(ReleaseVerdict::released < ReleaseVerdict::still_held &&
                ReleaseVerdict::still_held < ReleaseVerdict::not_held);
  auto verdict = ReleaseVerdict::released;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ReleaseVerdict one = release_one(*states[i], holds[i], options, moment);
    verdict = std::max(verdict, one);
    if (one == ReleaseVerdict::not_held) continue;
    tidy(*states[i], moment);
    offer(*states[i], moment.now);
  }
  return verdict;
}

RevokeReply revoke(StoredLock& state, const RevokeOrder& order, const Moment& moment) {
  RevokeReply reply{.verdict = RevokeVerdict::nothing, .before = inspect(state, moment)};
  if (!is_live(state, moment.now)) return reply;
  reply.verdict = RevokeVerdict::other_holder;
  if (state.foreign && !order.if_owner && !order.if_token) {
    reply.verdict = order.now ? RevokeVerdict::deleted : RevokeVerdict::not_dlock;
    if (order.now) state.foreign.reset();
  }
  for (auto at = state.leases.begin(); at != state.leases.end();) {
    const auto here = at++;
    Lease& lease = here->second;
    if (!is_live(lease, moment.now) || !is_meant(order, here->first, lease)) continue;
    if (is_of_freeze(lease)) {
      reply.verdict = RevokeVerdict::frozen;
      continue;
    }
    // A kept lease has no holder that could be told to release it.
    if (order.now || is_kept(lease)) {
      state.leases.erase(here);
      if (reply.verdict != RevokeVerdict::revoked) reply.verdict = RevokeVerdict::deleted;
    } else {
      lease.revoked_by = order.by;
      reply.verdict = RevokeVerdict::revoked;
    }
  }
  tidy(state, moment);
  offer(state, moment.now);
  return reply;
}

std::vector<std::string> supersede_holders(StoredLock& state, const HolderInfo& by) {
  std::vector<std::string> ids;
  if (by.supersede != Supersede::holder || state.frozen) return ids;
  for (auto& [owner, lease] : state.leases) {
    const bool may = std::all_of(lease.holds.begin(), lease.holds.end(), [](const auto& hold) {
      return hold.second.who.supersede == Supersede::holder;
    });
    if (!may || lease.revoked_by || is_kept(lease)) continue;
    lease.revoked_by = by.user + '@' + by.host + " (--supersede)";
    for (const auto& [serial, record] : lease.holds)
      ids.push_back(record.id);
  }
  return ids;
}

std::optional<LastSuccess> forget(StoredLock& state, const Moment& moment) {
  auto known = last_success(state, moment);
  state.success.reset();
  return known;
}

Holding freeze(StoredLock& state, const FreezeOrder& order, const Moment& moment) {
  Holding before = inspect(state, moment);
  drop_frozen(state);
  const std::int64_t now = wall_ms(moment);
  state.frozen = FreezeNote{.owner = order.owner,
                            .who = order.who,
                            .since_ms = now,
                            .until_ms = now + to_ms(order.lasts)};
  tidy(state, moment);
  return before;
}

std::optional<Freeze> unfreeze(StoredLock& state, const Moment& moment) {
  auto known = freeze_of(state, moment);
  drop_frozen(state);
  tidy(state, moment);
  offer(state, moment.now);
  return known;
}

std::vector<LockName> names_of(const Watched& watched) {
  if (const auto* claim = std::get_if<Claim>(&watched)) return claim->names;
  const auto* holds = std::get_if<Holds>(&watched);
  return holds != nullptr ? names_of(*holds) : std::vector<LockName>();
}

Sight look(const Watched& watched, const States& states, const Moment& moment) {
  if (const auto* claim = std::get_if<Claim>(&watched)) {
    for (StoredLock* state : states)
      tidy(*state, moment);
    const Sight line = look_from_line(states, *claim, moment);
    if (line.place > 0) return line;
    for (StoredLock* state : states)
      // A bystander is in no line: it looks for room even if there are waiters.
      state->line.clear();
    const auto reply = acquire(states, *claim, moment);
    const bool refused = reply && std::holds_alternative<Refusal>(*reply);
    return {.what = refused ? HandOff::timed_out : HandOff::changed, .again = line.again};
  }
  const auto* holds = std::get_if<Holds>(&watched);
  const bool held = holds == nullptr || check(states, *holds, moment).verdict == RenewVerdict::held;
  return {.what = held ? HandOff::timed_out : HandOff::changed};
}

bool glob_matches(std::string_view glob, std::string_view name) {
  return ::fnmatch(std::string(glob).c_str(), std::string(name).c_str(), 0) == 0;
}

}  // namespace dlock::lease_table
