// SPDX-License-Identifier: MIT
#include "store/table_store.hpp"

#include <chrono>
#include <utility>

namespace dlock {

using lease_table::names_of;

Result<AcquireReply> TableStore::acquire(const Claim& claim, Queueing /*queueing*/, Time limit) {
  Result<AcquireReply> reply = Error{};
  auto done = transact(claim.names, limit, [&](const States& states, const Moment& moment) {
    reply = lease_table::acquire(states, claim, moment);
    return reply && std::holds_alternative<Grant>(*reply);
  });
  if (!done) return done.error();
  return reply;
}

Result<RenewReply> TableStore::renew(const Holds& holds, Time limit) {
  RenewReply reply;
  auto done = transact(names_of(holds), limit, [&](const States& states, const Moment& moment) {
    reply = lease_table::renew(states, holds, moment);
    return reply.verdict == RenewVerdict::renewed;
  });
  if (!done) return done.error();
  return reply;
}

Result<RenewReply> TableStore::check(const Holds& holds, Time limit) {
  RenewReply reply;
  auto done = transact(names_of(holds), limit, [&](const States& states, const Moment& moment) {
    reply = lease_table::check(states, holds, moment);
    return false;
  });
  if (!done) return done.error();
  return reply;
}

Result<ReleaseVerdict> TableStore::release(const Holds& holds,
                                           const ReleaseOptions& options,
                                           Time limit) {
  auto verdict = ReleaseVerdict::not_held;
  auto done = transact(names_of(holds), limit, [&](const States& states, const Moment& moment) {
    verdict = lease_table::release(states, holds, options, moment);
    return verdict != ReleaseVerdict::not_held || states.size() > 1;  // others of them may be ours
  });
  if (!done) return done.error();
  return verdict;
}

Result<RevokeReply> TableStore::revoke(const LockName& name, const RevokeOrder& order, Time limit) {
  RevokeReply reply;
  auto done = transact({name}, limit, [&](const States& states, const Moment& moment) {
    reply = lease_table::revoke(*states.front(), order, moment);
    return reply.verdict == RevokeVerdict::revoked || reply.verdict == RevokeVerdict::deleted;
  });
  if (!done) return done.error();
  return reply;
}

Result<std::optional<LastSuccess>> TableStore::forget(const LockName& name, Time limit) {
  std::optional<LastSuccess> known;
  auto done = transact({name}, limit, [&](const States& states, const Moment& moment) {
    known = lease_table::forget(*states.front(), moment);
    return known.has_value();
  });
  if (!done) return done.error();
  return known;
}

Result<Holding> TableStore::inspect(const LockName& name, Time limit) {
  Holding holding;
  auto done = read({name}, limit, [&](const States& states, const Moment& moment) {
    holding = lease_table::inspect(*states.front(), moment);
  });
  if (!done) return done.error();
  return holding;
}

Result<Watching> TableStore::watch(const Claim& claim, bool /*front*/, Time limit) {
  return watch_for(claim, limit);
}

Result<Watching> TableStore::watch_hold(const Holds& holds, Time limit) {
  return watch_for(holds, limit);
}

Result<Watching> TableStore::watch_for(Watched what, Time limit) {
  auto watching = watch_names(names_of(what), limit);
  if (!watching) return watching.error();
  watched_ = std::move(what);
  return Watching{};
}

// A renewal writes the row too, and wakes no waiter. An unreadable row may be a change: wake.
bool TableStore::has_changed(Time limit) {
  bool changed = false;
  auto done = read(names_of(watched_), limit, [&](const States& states, const Moment& moment) {
    changed = lease_table::has_changed(watched_, states, moment);
  });
  return !done || changed;
}

Result<HandOff> TableStore::await_hand_off(Time until) {
  for (;;) {
    auto changed = await_change(until);
    if (!changed) return changed.error();
    if (*changed && has_changed(until)) return HandOff::changed;
    if (!*changed || BootClock::now() >= until) return HandOff::timed_out;
  }
}

TableStore::Moment TableStore::local_moment(Time sent_at) {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {.sent_at = sent_at,
          .now = lease_table::store_time(BootClock::now()),
          .wall_us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count()};
}

}  // namespace dlock
