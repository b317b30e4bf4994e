// SPDX-License-Identifier: MIT
// THE SEAM: what dlock asks of a place that keeps locks (Redis, a local directory, a database,
// etcd, ZooKeeper, memory). All code above the stores uses these types only.
//
// A store promises:
//   - one call = one bounded attempt: no retries, no sleeping beyond `limit` (a BootClock time);
//   - an error never means "no": after Errc::timed_out and cancelled the call may have happened,
//     after unconfirmed it has; a verdict (lost, not_held, busy) is never the word of a replica;
//   - `sent_at` is read before the first byte of the confirmed request is handed to the kernel, and
//     the lease there was set by it or by a later one: sent_at + ttl is never later than its end;
//   - acquire, release and undo are idempotent by hold serial: repeating one counts nothing twice;
//   - a claim of several names is granted all of them or none, in one step for all others;
//   - two holds exist at the same time only if both are shared, or both are slots of the same
//     number of them; each ends with its own lease, also if others renew theirs;
//   - renew extends, never shortens, never creates; nothing of another owner is ever changed;
//   - tokens of one name only grow;
//   - if the store keeps a line (StoreTraits), a lock that has room goes to its first living
//     waiter, and a waiter that does not take its turn within a second is passed over.
// Messages may be lost, so waiters also repeat their claim every few seconds: the heartbeat.
// Calls are made from one thread at a time; only interrupts come from another (StoreOptions).
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "core/holding.hpp"
#include "core/names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

// Whether a refused claim waits in line, and how it learns of its turn.
enum class Queueing {
  no,
  listening,  // has a subscription: if PUBLISH reports no receiver, the waiter is dead
  polling,    // has no subscription: asks several times a second
};

struct Claim {
  std::vector<LockName> names;  // at least one, none twice
  OwnerId owner;                // ours if we are a stranger
  HoldSerial serial;            // the same for every repetition of this claim
  Duration ttl{};
  bool renewed = true;  // false: the hold ends with its first lease
  HolderInfo who;
  std::vector<AncestorHold> ancestors;  // holds of these names above us, the nearest last
  // Ids of the ancestors' holds that an `acquire` took and without which we must not run: if such a
  // hold was lost, the answer is Errc::lost. If it was released, we claim like a stranger.
  std::vector<std::string> relies_on = {};
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // of Mode::slots: their number, from 1
  // --once-per, if not zero: skip if a run was granted less than this ago and released with
  // ReleaseOptions::tell_for.
  Duration once_per{};
  std::optional<std::uint64_t> max_waiters = {};  // wait in line only if fewer do
  // The claim's id in line, if it is not the id of its hold: a claim to a quorum has a new serial
  // in each round, and keeps its place. Empty: "<owner>#<serial>".
  std::string stands_as = {};
  // A server that started a shorter time ago may have forgotten holds: whatever it did, it answers
  // with Errc::unavailable. Zero: no limit. Only Redis knows when it started.
  Duration least_uptime{};
  // The least fencing token in place of the store's time in µs, so that the servers of a quorum
  // grant the same token. It counts if it is within k_token_window of that time: after two windows
  // without a grant a store that has lost all tokens grants larger ones. Zero: the store's time.
  // Only a quorum sets it, whose servers are Redis.
  FencingToken proposes = 0;
  static constexpr Duration k_token_window = std::chrono::milliseconds(250);
};
// The claim's id in line.
std::string waiter_id(const Claim& claim);

// A granted hold of one name, with what its renewal and release need.
struct Hold {
  LockName name;
  OwnerId owner;  // a nested run: the ancestor's
  HoldSerial serial;
  FencingToken token = 0;
  std::int64_t since_ms = 0;
  Duration ttl{};
  HolderInfo who;
  bool nested = false;
  bool renewed = true;      // as in the claim
  Mode mode = Mode::plain;  // nested: the ancestor's mode, or a weaker one
  std::optional<std::uint32_t> slot = {};
};
using Holds = std::vector<Hold>;  // of one claim, in the order of its names, with one serial
std::vector<LockName> names_of(const Holds& holds);
// The holds that a claim may have although no answer said so: a set for its own owner, and one for
// the owner of each ancestor.
std::vector<Holds> possible_holds(const Claim& claim);

struct Grant {
  Holds holds;
  Time sent_at;
  std::string at = {};  // the server that answered, if there may be several
  // The process that answered, in a quorum: two URLs may lead to one process. Empty: unknown.
  std::string process = {};
  // False: some servers of a quorum have not answered yet. They are granted their parts of the hold
  // during later calls.
  bool complete = true;
};
// Claim::once_per: a run that succeeded was granted this long ago.
struct Done {
  Duration ago{};
};
// The claim is not granted now.
struct Refusal {
  Holding holding;          // the first name in the way
  std::size_t which = 0;    // its index in Claim::names
  std::uint64_t place = 0;  // in the line of that name: 1 is next; 0: not in line
  // There is room for the claim, but the first in line may take it first, for this long.
  std::optional<Duration> turn_left = {};
  // An ancestor of the claim holds the name in an incompatible mode: waiting would deadlock.
  bool by_ancestor = false;
};
using AcquireReply = std::variant<Grant, Refusal, Done>;

enum class RenewVerdict {
  renewed,
  held,     // by check(): still ours
  revoked,  // held, but force-release asked the holder to stop; the lease still ends at its time
  lost,     // a master says: another owner holds it, or no owner
};
struct RenewReply {
  RenewVerdict verdict = RenewVerdict::renewed;
  Time sent_at;
  std::string revoked_by = {};  // if revoked: "user@host"
  Holding holding = {};         // if lost: how that name is held now
  // If lost: some of several names may still be ours, and must be released.
  bool some_left = false;
  std::size_t which = 0;  // if revoked or lost: the first such name
  bool released = false;  // if lost: an `acquire` took it, and it was properly released
  std::string at = {};    // as in Grant
  // If the peer lock (?with=) was lost and not the lease: "whose GET_LOCK is gone: …". `holding` is
  // then empty.
  std::string because = {};
};

// What a release leaves behind in the store.
struct ReleaseOptions {
  // --min-hold: no other claim is granted for this long. Zero: the lock is free at once. Only the
  // last hold of an owner is kept, and no nested hold.
  Duration keep{};
  // --once-per: the run succeeded, and the store remembers that for this long. Zero: it does not.
  Duration tell_for{};
};

enum class ReleaseVerdict {
  released,    // this owner has nothing left but kept holds; next waiters notified
  still_held,  // our hold is gone; nested runs or ancestors keep the lock
  not_held,    // at least one name was not held by us: a repeated release, or a lost lease
};

struct RevokeOrder {
  std::string by;    // "user@host"
  bool now = false;  // delete at once: two may run
  std::optional<OwnerId> if_owner;
  std::optional<FencingToken> if_token;
};
enum class RevokeVerdict {
  revoked,       // renewals are refused from now on
  deleted,       // --now, or only a kept hold was left: deleted, waiters were notified
  nothing,       // the lock was free
  not_dlock,     // the holder ignores revocations; only `now` can end its hold
  other_holder,  // if_owner or if_token did not match
};
struct RevokeReply {
  RevokeVerdict verdict = RevokeVerdict::nothing;
  Holding before;  // when the order was carried out
};

enum class HandOff {
  turn,     // the lock is free, and we are first in line
  next,     // it is free, and we are second: ours if the first does not take it in 1 s
  changed,  // the lock has changed: it may be free, or another's
  timed_out,
};

struct Watching {
  std::string untracked_because;  // why key tracking is unavailable; empty: it is on
};

// What a store supports besides plain locks of one name, which every store has. A call that needs
// an unsupported trait is answered with Errc::bad_usage and changes nothing.
struct StoreTraits {
  bool exclusive = true;      // Mode::exclusive
  bool shared = true;         // Mode::shared
  bool slots = true;          // Mode::slots
  bool several_names = true;  // claims of more than one name
  bool nesting = true;        // claims with ancestors
  bool keep = true;           // ReleaseOptions::keep
  bool longer = true;         // renewals and nested claims with a ttl longer than the first
  bool once_per = true;       // Claim::once_per, ReleaseOptions::tell_for and forget()
  bool tokens = true;         // fencing tokens; without them every token is 0
  bool line = true;           // Queueing, Claim::max_waiters; without it waiters have no order
  bool replicas = false;      // a grant can wait until replicas have it (--replicas)
  bool detached = true;       // holds without a process that stays: acquire, renew, release
  bool may_hang = false;      // a call may hang in the kernel (a disk), where no interrupt ends it
};

class LockStore {
 public:
  LockStore() = default;
  LockStore(const LockStore&) = delete;
  LockStore& operator=(const LockStore&) = delete;
  virtual ~LockStore() = default;

  virtual StoreTraits traits() const = 0;

  // For messages and DLOCK_HOLDS: "redis://db1:6379/0". Never a password.
  virtual std::string where() const = 0;

  // The store's name for it (prefix and all). Errc::bad_usage if the store cannot keep the name
  // apart from its own keys.
  virtual Result<std::string> key_of(const LockName& name) const = 0;

  // Takes the names, joins an ancestor's hold of them, or says which holder is in the way. A
  // refused claim waits in line as `queueing` says, and keeps its places by being repeated every
  // few seconds. Errc::bad_usage if the holders of a name have another number of slots, Errc::lost
  // if a hold that the claim relies on was lost.
  virtual Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) = 0;

  virtual Result<RenewReply> renew(const Holds& holds, Time limit) = 0;

  // Records these holds with their tokens and times, and makes later grants of the names have
  // larger tokens. Errc::lost: a hold is not recorded. Errc::bad_usage: the store cannot be a
  // member of a quorum.
  virtual Result<void> raise(const Holds& holds, Time limit);

  // Whether the holds are still ours. As sure as renew, but the lease stays as it is; only if a
  // renewed lease was cut short by another holder beside us, it gets its former end again.
  virtual Result<RenewReply> check(const Holds& holds, Time limit) = 0;

  // Releases those holds that are still held.
  virtual Result<ReleaseVerdict> release(const Holds& holds,
                                         const ReleaseOptions& options,
                                         Time limit) = 0;

  // Takes the claim out of the lines of its names; `queueing` as in its last acquire. Its turn, if
  // it had one, goes to the next waiter.
  virtual Result<void> leave(const Claim& /*claim*/, Queueing /*queueing*/, Time /*limit*/) {
    return {};
  }

  // From its return on, await_hand_off misses no turn of this claim in the line. As one of the
  // first
  // (`front`) it also misses no release by a program without lines, and, unless untracked, no other
  // change of the lock that comes after the next acquire. Errc::denied or Errc::refused: the store
  // has no such service, poll instead.
  virtual Result<Watching> watch(const Claim& claim, bool front, Time limit) = 0;

  // Watches for a holder: from the next renewal on, await_hand_off misses no change of the lock but
  // its own.
  virtual Result<Watching> watch_hold(const Holds& holds, Time limit) = 0;

  // Sleeps until the watched lock changes, or until `until`. May wake without a change. An
  // interrupt (Errc::cancelled) does not end the watching.
  virtual Result<HandOff> await_hand_off(Time until) = 0;

  virtual Result<Holding> inspect(const LockName& name, Time limit) = 0;

  // The names (without prefix) that may have a lock and match a glob of * ? [..], sorted; names of
  // foreign locks included.
  virtual Result<std::vector<std::string>> list(std::string_view glob, Time limit) = 0;

  virtual Result<RevokeReply> revoke(const LockName& name,
                                     const RevokeOrder& order,
                                     Time limit) = 0;

  // Forgets the newest success, so that the next run with once_per runs. Nothing: there was none.
  virtual Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) = 0;
};

// Whether the request has surely reached no server, by its error.
bool surely_not_sent(Errc code);

// The error of a claim that relies on a lost hold of this name (Claim::relies_on).
Error lost_above(const LockName& name);

// The error of a claim of Mode::slots whose holders have `there` slots.
Error other_slots(const LockName& name, std::uint32_t there, const Claim& claim);

// The claim's hold of the name at `which`, by the record of that hold.
Hold hold_of(const Claim& claim, std::size_t which, OwnerId owner, const HoldRecord& record);

}  // namespace dlock
