// SPDX-License-Identifier: MIT
#include "store/table/table_store.hpp"

#include "base/text.hpp"
#include "base/wall_clock.hpp"
#include "store/record_json.hpp"
#include "store/table/lease_holding.hpp"
#include "store/table/waiting_line.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock {

using lease_table::names_of;
using lease_table::StoredLock;

namespace {

constexpr Duration k_least_look = std::chrono::seconds(1);

std::vector<OwnerId> owners_of(const Holds& holds) {
  std::vector<OwnerId> owners;
  for (const Hold& hold : holds)
    owners.push_back(hold.owner);
  return owners;
}

std::size_t index_of(const Claim& claim, const Hold& hold) {
  const auto at = std::find(claim.names.begin(), claim.names.end(), hold.name);
  return static_cast<std::size_t>(at - claim.names.begin());
}

// Returns when one of the claim's names may become free although nothing wakes a waiter.
std::optional<Time> look_time(const lease_table::States& states,
                              const Claim& claim,
                              const lease_table::Moment& moment) {
  const auto again = lease_table::look_from_line(states, claim, moment).again;
  if (!again) return std::nullopt;
  return BootClock::now() + (*again - moment.now);
}

}  // namespace

std::optional<Error> TableStore::too_new(const std::vector<LockName>& names,
                                         const States& states) const {
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i]->layout > lease_table::k_layout)
      return of_newer_dlock("lock " + in_quotes(names[i].text()) + " in " + where(),
                            states[i]->layout);
  return std::nullopt;
}

// Changes the rows with `what`, in one atomic call of transact(). If that begins a waiter's turn,
// also wakes the first two waiters of the line.
Result<void> TableStore::change(const std::vector<LockName>& names,
                                const Occasion& occasion,
                                Time limit,
                                const Change& what) {
  std::optional<Error> newer;
  auto done = transact(names, occasion, limit, [&](const States& states, const Moment& moment) {
    newer = too_new(names, states);
    if (newer) return Step{};
    std::vector<lease_table::Line> before;
    for (const StoredLock* state : states)
      before.push_back(state->line);
    Step step = what(states, moment);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const lease_table::Line& line = states[i]->line;
      if (!lease_table::turn_began(before[i], line)) continue;
      step.tells = true;
      for (std::size_t place = 0; place < line.size() && place < 2; ++place)
        step.wakes.push_back(line[place].id);
    }
    return step;
  });
  if (done && newer) return std::move(*newer);
  return done;
}

Result<void> TableStore::change(const Holds& holds, Time limit, const Change& what) {
  return change(names_of(holds), {.holds = &holds}, limit, what);
}

Result<AcquireReply> TableStore::acquire(const Claim& claim, Queueing queueing, Time limit) {
  Result<AcquireReply> reply = Error{};
  std::optional<Time> look_at;  // of one of several names: when the first of them may become free
  const Occasion occasion{.claim = &claim, .queueing = queueing};
  auto done = change(claim.names, occasion, limit, [&](const States& states, const Moment& moment) {
    if (auto refused = refuses(claim)) {
      reply = std::move(*refused);
      return Step{};
    }
    const bool keeps_again =
        std::any_of(states.begin(), states.end(), [&](const StoredLock* state) {
          return lease_table::freeze_left(*state, moment).has_value() &&
                 !lease_table::is_live(*state, moment.now);
        });
    reply = lease_table::acquire(states, claim, moment, traits().line ? queueing : Queueing::no);
    seen_ = lease_table::signature_of(states, claim, moment.now);
    predecessor_ = lease_table::predecessor_of(states, claim);
    Step step;
    if (const auto* grant = reply ? std::get_if<Grant>(&*reply) : nullptr) {
      step = {.writes = true, .renews = owners_of(grant->holds)};
      if (claim.one_from) step.only = index_of(claim, grant->holds.front());
    }
    if (claim.one_from) look_at = look_time(states, claim, moment);
    // The holder of a frozen lock died without a release: foreign programs must find it kept again.
    const auto* refusal = reply ? std::get_if<Refusal>(&*reply) : nullptr;
    if (keeps_again && refusal != nullptr) step.writes = true;
    if (refusal != nullptr && refusal->place > 0) {
      step.wakes = lease_table::supersede_holders(*states[refusal->which], claim.who);
      step.tells = !step.wakes.empty();
      step.writes = step.writes || step.tells;
    }
    return step;
  });
  if (!done) return done.error();
  if (auto* grant = reply ? std::get_if<Grant>(&*reply) : nullptr) {
    for (Hold& hold : grant->holds)
      if (hold.token == 0) hold.token = number_of_write();
  }
  if (const auto* refusal = reply ? std::get_if<Refusal>(&*reply) : nullptr) {
    place_ = refusal->place;
    auto lease_left = refusal->holding.lease_left.within();
    if (lease_left && refusal->holding.kind == Holding::Kind::foreign)
      lease_left = std::min<Duration>(*lease_left, lease_table::k_foreign_look);
    if (lease_left || refusal->turn_left)
      look_at_ = BootClock::now() + std::min(lease_left.value_or(Duration::max() / 2),
                                             refusal->turn_left.value_or(Duration::max() / 2));
    if (look_at) look_at_ = std::min(look_at_.value_or(*look_at), *look_at);
  }
  return reply;
}

Result<void> TableStore::leave(const Claim& claim, Queueing queueing, Time limit) {
  if (queueing == Queueing::no || !traits().line) return {};
  return change(claim.names, Occasion{}, limit, [&](const States& states, const Moment& moment) {
    lease_table::leave(states, claim, moment);
    return Step{};
  });
}

Result<RenewReply> TableStore::renew(const Holds& holds, Time limit) {
  RenewReply reply;
  auto done = change(holds, limit, [&](const States& states, const Moment& moment) {
    reply = lease_table::renew(states, holds, moment);
    Step step;
    if (reply.verdict == RenewVerdict::renewed) step = {.writes = true, .renews = owners_of(holds)};
    return step;
  });
  if (!done) return done.error();
  return reply;
}

Result<void> TableStore::raise(const Holds& holds, Time limit) {
  bool raised = false;
  auto done = change(holds, limit, [&](const States& states, const Moment& moment) {
    raised = lease_table::raise(states, holds, moment);
    return Step{.writes = raised};
  });
  if (!done) return done.error();
  if (!raised) return Error{Errc::lost, where() + " has no record of the hold"};
  return {};
}

Result<RenewReply> TableStore::check(const Holds& holds, Time limit) {
  RenewReply reply;
  auto done = change(holds, limit, [&](const States& states, const Moment& moment) {
    reply = lease_table::check(states, holds, moment);
    return Step{};
  });
  if (!done) return done.error();
  return reply;
}

Result<ReleaseVerdict> TableStore::release(const Holds& holds,
                                           const ReleaseOptions& options,
                                           Time limit) {
  if (options.keep > Duration::zero() && !traits().keep)
    return Error{Errc::bad_usage, where() + " cannot keep a lock after its release"};
  auto verdict = ReleaseVerdict::not_held;
  const bool frees = options.keep == Duration::zero() && options.tell_for == Duration::zero() &&
                     (!options.end || options.end->held);
  const Occasion occasion{.holds = &holds, .frees = frees};
  auto done =
      change(names_of(holds), occasion, limit, [&](const States& states, const Moment& moment) {
        verdict = lease_table::release(states, holds, options, moment);
        // "Not held" about several names may mean that only some of them were held; those are
        // released now.
        const bool any = verdict != ReleaseVerdict::not_held || states.size() > 1;
        Step step{.writes = any, .tells = any};
        // Another process may be renewing this hold (`dlock renew --while`), and must notice the
        // release.
        for (const Hold& hold : holds)
          if (any && is_of_acquire(hold.serial))
            step.wakes.push_back(hold_id(hold.owner, hold.serial));
        return step;
      });
  if (!done) return done.error();
  return verdict;
}

// Changes one name for a command that makes no claim.
Result<void> TableStore::change_one(const LockName& name, Time limit, const ChangeOne& what) {
  if (auto key = key_of(name); !key) return key.error();
  return change({name}, Occasion{}, limit, [&](const States& states, const Moment& moment) {
    return what(*states.front(), moment);
  });
}

Result<RevokeReply> TableStore::revoke(const LockName& name, const RevokeOrder& order, Time limit) {
  RevokeReply reply;
  auto done = change_one(name, limit, [&](StoredLock& state, const Moment& moment) {
    reply = lease_table::revoke(state, order, moment);
    const bool done_so =
        reply.verdict == RevokeVerdict::revoked || reply.verdict == RevokeVerdict::deleted;
    Step step{.writes = done_so, .tells = done_so};
    for (const HoldRecord& hold : reply.before.holds)
      if (done_so) step.wakes.push_back(hold.id);
    return step;
  });
  if (!done) return done.error();
  return reply;
}

Result<std::optional<LastSuccess>> TableStore::forget(const LockName& name, Time limit) {
  std::optional<LastSuccess> known;
  auto done = change_one(name, limit, [&](StoredLock& state, const Moment& moment) {
    known = lease_table::forget(state, moment);
    return Step{.writes = known.has_value()};
  });
  if (!done) return done.error();
  return known;
}

Result<Holding> TableStore::freeze(const LockName& name, const FreezeOrder& order, Time limit) {
  Holding before;
  auto done = change_one(name, limit, [&](StoredLock& state, const Moment& moment) {
    before = lease_table::freeze(state, order, moment);
    return Step{.writes = true, .tells = true};
  });
  if (!done) return done.error();
  return before;
}

Result<std::optional<Freeze>> TableStore::unfreeze(const LockName& name, Time limit) {
  std::optional<Freeze> known;
  auto done = change_one(name, limit, [&](StoredLock& state, const Moment& moment) {
    known = lease_table::unfreeze(state, moment);
    return Step{.writes = known.has_value(), .tells = known.has_value()};
  });
  if (!done) return done.error();
  return known;
}

Result<Holding> TableStore::inspect(const LockName& name, Time limit) {
  if (auto key = key_of(name); !key) return key.error();
  Holding holding;
  std::optional<Error> newer;
  auto done = read({name}, limit, [&](const States& states, const Moment& moment) {
    newer = too_new({name}, states);
    holding = lease_table::inspect(*states.front(), moment);
  });
  if (!done) return done.error();
  if (newer) return std::move(*newer);
  return holding;
}

Result<Watching> TableStore::watch(const Claim& claim, bool front, Time limit) {
  front_ = front;
  return watch_for(claim, {waiter_id(claim)}, limit);
}

Result<Watching> TableStore::watch_hold(const Holds& holds, Time limit) {
  front_ = true;
  std::vector<std::string> ids;
  for (const Hold& hold : holds)
    ids.push_back(hold_id(hold.owner, hold.serial));
  return watch_for(holds, ids, limit);
}

Result<Watching> TableStore::watch_for(Watched what,
                                       const std::vector<std::string>& ids,
                                       Time limit) {
  auto watching = watch_rows(names_of(what), ids, limit);
  if (!watching) return watching.error();
  watched_ = std::move(what);
  seen_.clear();
  predecessor_.clear();
  place_ = 0;
  look_at_.reset();
  return Watching{};
}

// Looks at the watched rows, and returns what is new for the watched claim or holds. A message only
// says that something about a name has changed, so it may be meant for another waiter. If a row
// cannot be read, it counts as changed.
HandOff TableStore::look(Time limit) {
  HandOff seen = HandOff::changed;
  look_at_.reset();
  (void)read(names_of(watched_), limit, [&](const States& states, const Moment& moment) {
    seen = see(states, moment);
  }).has_value();
  return seen;
}

// Returns what is new in these states of the watched rows, and sets when to look again.
HandOff TableStore::see(const States& states, const Moment& moment) {
  std::string now_seen;
  if (const auto* claim = std::get_if<Claim>(&watched_)) {
    for (StoredLock* state : states)
      lease_table::tidy(*state, moment);
    now_seen = lease_table::signature_of(states, *claim, moment.now);
    predecessor_ = lease_table::predecessor_of(states, *claim);
  }
  lease_table::Sight sight = lease_table::look(watched_, states, moment);
  if (!now_seen.empty() && now_seen == seen_) sight.what = HandOff::timed_out;
  seen_ = std::move(now_seen);
  place_ = sight.place;
  look_at_.reset();
  if (sight.again) look_at_ = BootClock::now() + (*sight.again - moment.now);
  return sight.what;
}

void TableStore::look_soon() {
  const Watcher who = std::holds_alternative<Holds>(watched_) ? Watcher::holder
                      : place_ > 0                            ? Watcher::waiter
                                                              : Watcher::bystander;
  const auto every = looks_every(who, place_);
  if (!every) return;
  const Time soon = BootClock::now() + *every;
  look_at_ = std::min(look_at_.value_or(soon), soon);
}

Result<HandOff> TableStore::await_hand_off(Time until) {
  for (;;) {
    look_soon();
    std::optional<HandOff> seen;
    auto told = await_and_look(
        std::min(until, look_at_.value_or(until)),
        [&](const States& states, const Moment& moment) { seen = see(states, moment); });
    if (!told) return told.error();
    if (*told && has_turn()) return HandOff::turn;
    const Time now = BootClock::now();
    const bool due = *told || (look_at_ && now >= *look_at_ && now < until);
    // A look gets at least k_least_look, even beyond `until`: with less time the answer would come
    // too late, and the connection would be dropped.
    if (!seen) seen = due ? look(std::max(until, now + k_least_look)) : HandOff::timed_out;
    if (*seen != HandOff::timed_out || BootClock::now() >= until) return *seen;
  }
}

TableStore::Moment TableStore::local_moment(Time sent_at) {
  return {
      .sent_at = sent_at, .now = lease_table::store_time(BootClock::now()), .wall_us = wall_us()};
}

}  // namespace dlock
