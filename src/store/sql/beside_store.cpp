// SPDX-License-Identifier: MIT
#include "store/sql/beside_store.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// Pause between two checks that the peer lock is still held.
constexpr Duration k_look = 1s;
constexpr Duration k_look_limit = 500ms;  // limit of one check of a held peer lock
// Pause before a waiter tries again, because the server sends no message when a peer lock is
// released.
constexpr Duration k_try = 100ms;
// If the other program's lock (the peer lock) cannot be taken, the release of dlock's own row gets
// at least this long, even if the limit of the call is nearer.
constexpr Duration k_release_limit = 1s;

}  // namespace

// Returns what the store of the rows supports, without what a peer lock cannot do. A name has one
// peer lock, so there are no readers and no slots. A peer lock ends with this process, so `dlock
// acquire` could keep only the row. One of several names would be chosen by the rows, before a peer
// lock is asked for; if another program holds that, no other name would be tried.
StoreTraits BesideStore::traits() const {
  StoreTraits traits = rows_->traits();
  traits.shared = false;
  traits.slots = false;
  traits.detached = false;
  traits.several_names = traits.several_names && !peer_->is_one_for_all_names();
  traits.one_of = false;
  return traits;
}

Result<std::string> BesideStore::key_of(const LockName& name) const {
  if (auto fits = peer_->fits(name); !fits) return fits.error();
  return rows_->key_of(name);
}

// Returns whether the hold needs a peer lock of its own. A nested hold does not need one if an
// ancestor holds the name in this store, because the ancestor has the peer lock. An ancestor whose
// URL has no `with=` is in another store: it has no peer lock.
bool BesideStore::needs_peer(const Claim& claim, const Hold& hold) const {
  const std::string where = rows_->where();
  const auto has_it = [&](const AncestorHold& above) {
    return above.store == where && above.key == hold.name.text();
  };
  return !hold.nested || std::none_of(claim.ancestors.begin(), claim.ancestors.end(), has_it);
}

Result<AcquireReply> BesideStore::acquire(const Claim& claim, Queueing queueing, Time limit) {
  blocked_ = false;
  const bool alone = claim.mode == Mode::plain || claim.mode == Mode::exclusive;
  if (!alone || claim.one_from || (claim.names.size() > 1 && !traits().several_names))
    return Error{Errc::bad_usage, where() + " has one " + peer_->kind() + " for each claim"};
  auto reply = rows_->acquire(claim, queueing, limit);
  if (!reply || !std::holds_alternative<Grant>(*reply)) return reply;
  // The claim is repeated: it already has the peer lock.
  if (taken_for_ == claim.serial) return reply;
  return take_peer(claim, std::get<Grant>(std::move(*reply)), limit);
}

// Takes the peer lock for a claim that has been granted the rows. The row is taken first because
// dlock processes wait for it in its line; so only one of them at a time asks for the peer lock.
Result<AcquireReply> BesideStore::take_peer(const Claim& claim, Grant grant, Time limit) {
  std::vector<LockName> names;
  for (const Hold& hold : grant.holds)
    if (needs_peer(claim, hold)) names.push_back(hold.name);
  if (names.empty()) return AcquireReply(std::move(grant));
  const auto taken = peer_->take(names, limit);
  if (taken && !*taken) {
    taken_for_ = claim.serial;
    gone_.reset();
    return AcquireReply(std::move(grant));
  }
  // Releases the row even if no time is left, because otherwise it would stay held until its lease
  // ends.
  const Time release_limit = std::max(limit, BootClock::now() + k_release_limit);
  const auto released = rows_->release(grant.holds, {}, release_limit);
  if (!released) return Error{Errc::unavailable, released.error().text};
  if (!taken) return taken.error();
  blocked_ = true;
  const PeerLock::Blocked& blocked = **taken;
  const auto at = std::find(claim.names.begin(), claim.names.end(), names[blocked.which]);
  Refusal refusal{.which = static_cast<std::size_t>(at - claim.names.begin())};
  refusal.holding.kind = Holding::Kind::foreign;
  refusal.holding.type = peer_->kind() + (blocked.by.empty() ? "" : " of connection " + blocked.by);
  // A peer lock has no lease: it ends with its connection.
  refusal.holding.lease_left = LeaseLeft::never();
  return AcquireReply(std::move(refusal));
}

// Checks that this process still has the peer lock. Once the peer lock is lost, every call returns
// the same error (Errc::lost).
Result<void> BesideStore::ask_peer(Time limit) {
  if (gone_) return *gone_;
  auto kept = peer_->check(limit);
  if (!kept && kept.error().code == Errc::lost) gone_ = kept.error();
  return kept;
}

// Returns the answer to a renewal or a check if the peer lock is lost or cannot be checked.
// nullopt: the peer lock is held, so the answer about the row counts.
std::optional<Result<RenewReply>> BesideStore::trouble_of_peer(Time limit) {
  if (!taken_for_) return {};
  const auto kept = ask_peer(limit);
  if (kept) return {};
  if (kept.error().code != Errc::lost) return kept.error();
  return RenewReply{.verdict = RenewVerdict::lost,
                    .sent_at = BootClock::now(),
                    .some_left = true,  // the row is still held
                    .because = "whose " + peer_->kind() + " is gone: " + kept.error().text};
}

Result<RenewReply> BesideStore::renew(const Holds& holds, Time limit) {
  if (auto trouble = trouble_of_peer(limit)) return std::move(*trouble);
  return rows_->renew(holds, limit);
}

Result<RenewReply> BesideStore::check(const Holds& holds, Time limit) {
  if (auto trouble = trouble_of_peer(limit)) return std::move(*trouble);
  return rows_->check(holds, limit);
}

// Releases the peer lock, for which it takes half of the time at most, and then the row. In the
// other order, the release of the row would wake the next dlock, which would ask for the peer lock
// too early and be refused.
Result<ReleaseVerdict> BesideStore::release(const Holds& holds,
                                            const ReleaseOptions& options,
                                            Time limit) {
  const Time now = BootClock::now();
  if (std::exchange(taken_for_, std::nullopt)) peer_->give_up(now + (limit - now) / 2);
  return rows_->release(holds, options, limit);
}

Result<HandOff> BesideStore::await_hand_off(Time until) {
  if (blocked_) {
    const Time next_try = BootClock::now() + k_try;
    const Time end = std::min(until, next_try);
    // A message about the row does not end the pause, because our own last try may have caused it.
    do {
      if (auto told = rows_->await_hand_off(end); !told) return told;
    } while (BootClock::now() < end);
    return until <= next_try ? HandOff::timed_out : HandOff::changed;
  }
  for (;;) {
    const Time look_at = taken_for_ ? BootClock::now() + k_look : until;
    auto told = rows_->await_hand_off(std::min(until, look_at));
    if (!told || *told != HandOff::timed_out || until <= look_at) return told;
    const auto kept = ask_peer(BootClock::now() + k_look_limit);
    if (kept) continue;
    if (kept.error().code == Errc::lost) return HandOff::changed;
    if (kept.error().code == Errc::cancelled) return kept.error();
  }
}

}  // namespace dlock
