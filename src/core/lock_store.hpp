// SPDX-License-Identifier: MIT
// THE SEAM: what dlock asks of a place that keeps locks (Redis, a local directory, a database,
// etcd, ZooKeeper, memory). Everything above works on these words only.
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
//     number of them; each ends with its own lease, also where others renew;
//   - renew extends, never shortens, never creates; nothing of another owner is ever changed;
//   - tokens of one name only grow;
//   - where it keeps a line (StoreTraits), a lock that has room goes to the first living waiter of
//     it, and a waiter that does not take its turn within a second is passed over.
// Messages may be lost: waiters also repeat their claim every few seconds: the heartbeat.
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

// Whether a claim that is refused waits in line, and how it learns of its turn.
enum class Queueing {
  no,
  listening,  // is subscribed: if PUBLISH reports no receiver, the waiter is dead
  polling,    // has no subscription: asks several times a second
};

struct Claim {
  std::vector<LockName> names;  // at least one, none twice
  OwnerId owner;                // ours if we are a stranger
  HoldSerial serial;            // the same for every repetition of this claim
  Duration ttl{};
  bool renewed = true;  // or to end with its first lease
  HolderInfo who;
  std::vector<AncestorHold> ancestors;  // holds of these keys above us, the nearest last
  // Ids of those of them that an acquire took, and without which we must not run: if one was lost,
  // the answer is Errc::lost. After its release we claim like a stranger.
  std::vector<std::string> relies_on = {};
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // of Mode::slots: how many there are, from 1
  // --once-per, if not zero: skip if a run was granted less than this ago and released with
  // ReleaseOptions::tell_for.
  Duration once_per{};
  std::optional<std::uint64_t> max_waiters = {};  // wait in line only where fewer do
  // Its id in line where that is not the id of its hold: a claim to a quorum has a new serial in
  // each round, and keeps its place. Empty: "<owner>#<serial>".
  std::string stands_as = {};
  // A server that started a shorter time ago answers with Errc::unavailable, whatever it did: it
  // may have forgotten holds. Zero: none does. Only Redis knows when it started.
  Duration least_uptime{};
  // The least fencing token in place of the store's time in µs, so that the servers of a quorum
  // grant the same one. It counts if it is within k_token_window of that time: after two windows
  // without a grant a store that has lost all tokens grants larger ones. Zero: the store's time.
  // Only a quorum sets it, whose servers are Redis.
  FencingToken proposes = 0;
  static constexpr Duration k_token_window = std::chrono::milliseconds(250);
};
// How the claim is called in line.
std::string waiter_id(const Claim& claim);

// A hold of one name that was granted: what renewing and releasing it takes.
struct Hold {
  LockName name;
  OwnerId owner;  // the ancestor's in a nested run
  HoldSerial serial;
  FencingToken token = 0;
  std::int64_t since_ms = 0;
  Duration ttl{};
  HolderInfo who;
  bool nested = false;
  bool renewed = true;      // as the claim
  Mode mode = Mode::plain;  // nested: as the ancestor's hold is, or weaker
  std::optional<std::uint32_t> slot = {};
};
using Holds = std::vector<Hold>;  // of one claim, in the order of its names, under one serial
std::vector<LockName> names_of(const Holds& holds);
// The holds that a claim may have although no answer said so: one set for each owner, its own and
// those of its ancestors.
std::vector<Holds> possible_holds(const Claim& claim);

struct Grant {
  Holds holds;
  Time sent_at;
  std::string at = {};  // the server that answered, where there may be several
  // Which process that was, of a server of a quorum: two URLs may lead to one. Empty: not known.
  std::string process = {};
  // False: some servers of a quorum have not answered yet. Their parts of the hold come while the
  // store is asked something else.
  bool complete = true;
};
// Claim::once_per: a run that succeeded was granted so long ago.
struct Done {
  Duration ago{};
};
// The claim is not granted now.
struct Refusal {
  Holding holding;          // of the first name in the way
  std::size_t which = 0;    // its index in Claim::names
  std::uint64_t place = 0;  // of the claim in the line of that name: 1 is next; 0: not in line
  // There is room for the claim, but the first in line may take it before, for this long.
  std::optional<Duration> turn_left = {};
  // Held by an ancestor of the claim in an incompatible mode: waiting would deadlock.
  bool by_ancestor = false;
};
using AcquireReply = std::variant<Grant, Refusal, Done>;

enum class RenewVerdict {
  renewed,
  held,     // of check(): ours
  revoked,  // held, but force-release asked the holder to stop; the lease still ends at its time
  lost,     // a master says: another owner holds it, or none
};
struct RenewReply {
  RenewVerdict verdict = RenewVerdict::renewed;
  Time sent_at;
  std::string revoked_by = {};  // of revoked: "user@host"
  Holding holding = {};         // of lost: how that name is held now
  // Of lost: some of several names may still be ours, and must be released.
  bool some_left = false;
  std::size_t which = 0;  // of revoked and lost: the first of the names that is
  bool released = false;  // of lost: an acquire took it, and it was released in good order
  std::string at = {};    // as in Grant
  // Of lost, where it is no loss of the name itself, and `holding` says nothing: "whose GET_LOCK is
  // gone: …".
  std::string because = {};
};

// What a release leaves in the store.
struct ReleaseOptions {
  // --min-hold: for this long no other claim is granted. Zero: the lock is free at once. Only the
  // last hold of an owner is kept, and no nested hold.
  Duration keep{};
  // --once-per: the run succeeded, and the store remembers that for this long. Zero: it does not.
  Duration tell_for{};
};

enum class ReleaseVerdict {
  released,    // nothing of this owner is left (but what is kept); the next waiters were notified
  still_held,  // our hold is gone, nested ones or ancestors keep the lock
  not_held,    // of one name at least there was nothing of ours (any more): a repetition, or a
               // lost lease
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
  nothing,       // it was free
  not_dlock,     // the holder ignores revocations; only `now` can end its hold
  other_holder,  // if_owner or if_token did not match
};
struct RevokeReply {
  RevokeVerdict verdict = RevokeVerdict::nothing;
  Holding before;  // as it stood when the order was carried out
};

enum class HandOff {
  turn,     // it is free, and we are the first in line
  next,     // it is free, and we are the second: ours if the first does not take it within a second
  changed,  // something happened to it: it may be free, or another's
  timed_out,
};

struct Watching {
  std::string untracked_because;  // why key tracking is unavailable; empty: it is on
};

// What a store supports beside plain locks of one name, which every store has. A call that needs
// what the store lacks is answered with Errc::bad_usage and changes nothing.
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

  // The name as this store knows it (prefix and all). Errc::bad_usage where the store cannot keep
  // this name apart from its own keys.
  virtual Result<std::string> key_of(const LockName& name) const = 0;

  // Takes the names, joins an ancestor's hold of them, or says which holder is in the way. A claim
  // that is refused waits in line as `queueing` says, and keeps its places by being repeated every
  // few seconds. Errc::bad_usage where the holders of a name have another number of slots,
  // Errc::lost where a hold that the claim relies on was lost.
  virtual Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) = 0;

  virtual Result<RenewReply> renew(const Holds& holds, Time limit) = 0;

  // Records these holds with the tokens and times that they say, and sees to it that later grants
  // of the names have larger tokens. Errc::lost: a hold is not recorded. Errc::bad_usage where the
  // store can be no member of a quorum.
  virtual Result<void> raise(const Holds& holds, Time limit);

  // Is it still ours? As sure as renew, but the lease stays as it is; or, where it is renewed and
  // others hold beside us, as it was before one of them cut it short.
  virtual Result<RenewReply> check(const Holds& holds, Time limit) = 0;

  // Releases those of them that are still held.
  virtual Result<ReleaseVerdict> release(const Holds& holds,
                                         const ReleaseOptions& options,
                                         Time limit) = 0;

  // Takes the claim out of the lines of its names; `queueing` as in its last acquire. A turn that
  // it had goes to the next.
  virtual Result<void> leave(const Claim& /*claim*/, Queueing /*queueing*/, Time /*limit*/) {
    return {};
  }

  // From its return on, await_hand_off misses no turn of this claim in the line; as one of the
  // first (`front`) also no release by a program without lines, and, unless untracked, no
  // other change of the lock that comes after the next acquire. Errc::denied or Errc::refused: no
  // such service here, poll instead.
  virtual Result<Watching> watch(const Claim& claim, bool front, Time limit) = 0;

  // The same for a holder: from the next renewal on, await_hand_off misses no change of the lock
  // but its own.
  virtual Result<Watching> watch_hold(const Holds& holds, Time limit) = 0;

  // Sleeps until the watched lock changes, or until `until`. May wake without a change. An
  // interrupt (Errc::cancelled) does not end the watching.
  virtual Result<HandOff> await_hand_off(Time until) = 0;

  virtual Result<Holding> inspect(const LockName& name, Time limit) = 0;

  // Names (without prefix) that match a glob of * ? [..], sorted; those a lock may stand at,
  // foreign ones included.
  virtual Result<std::vector<std::string>> list(std::string_view glob, Time limit) = 0;

  virtual Result<RevokeReply> revoke(const LockName& name,
                                     const RevokeOrder& order,
                                     Time limit) = 0;

  // Forgets the newest success, so that the next run with once_per runs. Nothing: there was none.
  virtual Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) = 0;
};

// Errors after which the request has surely reached no server.
bool surely_not_sent(Errc code);

// The error of a claim that relies on a hold of this name that was lost (Claim::relies_on).
Error lost_above(const LockName& name);

// The error of a claim of Mode::slots whose holders have `there` slots.
Error other_slots(const LockName& name, std::uint32_t there, const Claim& claim);

// What the claim holds of the name at `which`, by the record of that hold.
Hold hold_of(const Claim& claim, std::size_t which, OwnerId owner, const HoldRecord& record);

}  // namespace dlock
