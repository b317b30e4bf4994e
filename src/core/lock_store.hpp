// SPDX-License-Identifier: MIT
// THE SEAM: what dlock asks of a store, which keeps locks (in tests, memory). All code above the
// stores uses these types only. A store promises:
// - each call is one attempt, without a repetition, and returns by `limit` (a BootClock time);
// - an error never means "no": after Errc::timed_out or cancelled the server may have carried out
//   the call, after unconfirmed it has done so; verdicts (lost, not_held, busy) never come from a
//   replica;
// - `sent_at` is a time before the first byte of the confirmed request is handed to the kernel.
//   That request or a later one set the lease, so the lease does not end before sent_at + ttl;
// - acquire and release may be repeated: a second call with the same serial counts nothing twice;
// - a claim of several names is granted all of them or none, atomically; a claim of one of several
//   names (Claim::one_from) never holds two of them, however often it is repeated;
// - two owners hold a name at the same time only if both are readers, or both have a slot of the
//   same number of slots; each hold ends with its own lease, even if others are renewed;
// - renew extends a lease, never shortens one and never creates a hold; no call changes a hold of
//   another owner;
// - the tokens of one name only grow;
// - if the store keeps a line (StoreTraits), a lock that has room goes to its first living waiter,
//   and a waiter that does not take its turn within a second is passed over.
// Messages may be lost, so waiters also repeat their claim every few seconds: the heartbeat.
// Calls are made from one thread at a time; only an interrupt comes from another (StoreOptions).
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
  listening,  // gets messages; if a message reaches no receiver, the waiter is dead
  polling,    // gets no messages: repeats its claim several times a second
};

struct Claim {
  std::vector<LockName> names;  // at least one, no duplicates
  // Set: one of the names is enough. The claim gets the first name that it can have, beginning with
  // the name at this index; the grant has one hold. The index is the same for every repetition.
  // Not set: the claim needs all of the names. Not with `once_per` and not with `who.supersede`.
  std::optional<std::size_t> one_from = {};
  OwnerId owner;      // used unless the claim joins an ancestor's hold
  HoldSerial serial;  // the same for every repetition of this claim
  Duration ttl{};
  bool renewed = true;  // false: the hold ends with its first lease
  HolderInfo who;
  // Holds of these names by the runs above this one, the nearest last.
  std::vector<AncestorHold> ancestors;
  // Ids of ancestors' holds that were taken by `acquire`. If such a hold was lost, the claim must
  // not be granted: the answer is Errc::lost. If such a hold was released, the claim counts as not
  // nested.
  std::vector<std::string> relies_on = {};
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // for Mode::slots: the number of slots, from 1
  // --once-per: if a successful run was granted less than this ago, and the store remembers it
  // (ReleaseOptions::tell_for), the answer is Done. Zero: off.
  Duration once_per{};
  std::optional<std::uint64_t> max_waiters = {};  // join the line only if fewer are in it
  // The claim's id in line, if it is not the id of its hold: a claim to a quorum gets a new serial
  // each time it asks all servers anew, but keeps its place in line. Empty: "<owner>#<serial>".
  std::string stands_as = {};
  // A server that started less than this ago may have forgotten holds: it answers
  // Errc::unavailable, even if it granted the claim. Zero: no limit. Only Redis knows when it
  // started.
  Duration least_uptime{};
  // The least fencing token to grant, in place of the store's time in µs: the servers of a quorum
  // grant the same token if they get the same proposal. A proposal that differs from the store's
  // time by more than k_token_window is ignored. So a store that lost its tokens grants larger ones
  // again when two windows have passed since its last grant. Zero: the store's time. Only quorums,
  // whose servers are Redis, set it.
  FencingToken proposes = 0;
  static constexpr Duration k_token_window = std::chrono::milliseconds(250);
};
// Returns the claim's id in line.
std::string waiter_id(const Claim& claim);
// Returns the indices of the claim's names in the order in which the claim prefers them.
std::vector<std::size_t> order_of(const Claim& claim);

// A granted hold of one name, with what its renewal and release need.
struct Hold {
  LockName name;
  OwnerId owner;  // for a nested run: the ancestor's owner
  HoldSerial serial;
  FencingToken token = 0;
  std::int64_t since_ms = 0;
  Duration ttl{};
  HolderInfo who;
  bool nested = false;
  bool renewed = true;      // false: it ends with its first lease
  Mode mode = Mode::plain;  // for a nested run: the ancestor's mode, or a weaker one
  std::optional<std::uint32_t> slot = {};
};
// The holds of one claim, in the order of its names; they share one serial.
using Holds = std::vector<Hold>;
std::vector<LockName> names_of(const Holds& holds);
// Returns the holds that a store may have granted to a claim whose answer was lost: one set for the
// claim's own owner, and one for the owner of each ancestor. A claim of one of several names has at
// most one hold of a set.
std::vector<Holds> possible_holds(const Claim& claim);

struct Grant {
  Holds holds;
  Time sent_at;
  std::string at = {};  // the server that answered, if there are several
  // For a quorum: the server process that answered, as two URLs may lead to one process. Empty:
  // unknown.
  std::string process = {};
  // False: some servers of a quorum have not answered yet; they grant the hold during later calls.
  bool complete = true;
};
// The claim is not needed: a successful run was granted this long ago (Claim::once_per).
struct Done {
  Duration ago{};
};
// The claim is not granted now.
struct Refusal {
  // State of the first name that is in the way. For a claim of one of several names: of the name in
  // whose line it has, or would have, the best place.
  Holding holding;
  std::size_t which = 0;    // index of the name in the way, in Claim::names
  std::uint64_t place = 0;  // place in the line of the name in the way: 1 is next; 0: not in line
  // Set if the lock has room for the claim, but is offered to the first waiter in line: how long
  // the offer still lasts. For a claim of one of several names: the offer of any of them that ends
  // first.
  std::optional<Duration> turn_left = {};
  // An ancestor of the claim holds the name in a mode that excludes the claim. Waiting would last
  // for ever, as the ancestor waits for the claim's run to end.
  bool by_ancestor = false;
  // The claim waited, and a later one in its line superseded it (--supersede): the claim has left
  // its lines, and `holding` is empty.
  std::optional<HolderInfo> superseded_by = {};
};
using AcquireReply = std::variant<Grant, Refusal, Done>;

enum class RenewVerdict {
  renewed,
  held,     // the answer of check(): still ours
  revoked,  // held, but force-release asked the holder to stop; the lease continues to its end
  lost,     // a server that may write says: held by another owner, or free
};
struct RenewReply {
  RenewVerdict verdict = RenewVerdict::renewed;
  Time sent_at;
  std::string revoked_by = {};  // for revoked: "user@host"
  Holding holding = {};         // for lost: the present state of the lost name
  // For lost: some of several names may still be ours, and must be released.
  bool some_left = false;
  std::size_t which = 0;  // index of the first name that is revoked or lost
  // For lost: the hold was taken by `acquire` and has been released properly.
  bool released = false;
  std::string at = {};  // the server that answered, if there are several
  // For lost, if the lease still holds but the second lock that ?with= takes (such as GET_LOCK) is
  // gone: the reason, as in "whose GET_LOCK is gone: …". `holding` is then empty.
  std::string because = {};
};

// How a run ended, for those who look later (--keep-last).
struct RunEnd {
  std::string outcome;  // the word of the result file; "released" for a hold of `acquire`
  std::optional<int> exit_status = {};
  std::optional<int> signal = {};
  std::optional<Duration> waited = {};
  std::optional<Duration> held = {};  // from the grant on; nullopt: until the release
  Duration keep{};                    // for how long the store remembers it
};

// What a release leaves behind in the store.
struct ReleaseOptions {
  // --min-hold: for this long after the release no other claim is granted. Zero: the lock is free
  // at once. Only the last hold of an owner is kept, and never a nested hold.
  Duration keep{};
  // --once-per: the run succeeded; the store remembers that for this long. Zero: it does not.
  Duration tell_for{};
  // Noted if the release ends the owner's last hold; nullopt: not noted.
  std::optional<RunEnd> end = {};
};

enum class ReleaseVerdict {
  released,    // the owner has no hold left, except kept ones; the next waiters were notified
  still_held,  // our hold is released; nested runs or ancestors still hold the lock
  not_held,    // at least one name was not held by us: a repeated release, or a lost lease
};

struct RevokeOrder {
  std::string by;    // who gives the order: "user@host"
  bool now = false;  // delete the lock although its holder may still run
  std::optional<OwnerId> if_owner;
  std::optional<FencingToken> if_token;
};

// What freezes a name.
struct FreezeOrder {
  OwnerId owner;   // a new owner, for the hold that keeps a free name taken
  HolderInfo who;  // who gives the order, and the reason
  Duration lasts{};
};

enum class RevokeVerdict {
  revoked,    // renewals are refused from now on
  deleted,    // deleted, because of `now` or because the hold was only kept; waiters were notified
  nothing,    // the lock was free
  not_dlock,  // the holder ignores revocations; only `now` can end its hold
  other_holder,  // if_owner or if_token did not match
  frozen,        // no run holds the lock: it is frozen, and only unfreeze() ends that
};
struct RevokeReply {
  RevokeVerdict verdict = RevokeVerdict::nothing;
  Holding before;  // the state just before the order was carried out
};

enum class HandOff {
  turn,  // the lock is free, and we are the first waiter
  // The lock is free, and we are the second waiter: the lock is offered to us if the first waiter
  // does not take it within 1 s.
  next,
  changed,  // the lock has changed: it may be free, or held by another owner
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
  bool one_of = true;         // claims of one of several names (Claim::one_from)
  bool nesting = true;        // claims with ancestors
  bool keep = true;           // ReleaseOptions::keep, freeze() and unfreeze()
  bool longer = true;         // renewals and nested claims with a ttl longer than the first
  bool once_per = true;       // Claim::once_per, ReleaseOptions::tell_for and forget()
  bool cheap_end = true;      // ReleaseOptions::end costs no further write
  bool tokens = true;         // fencing tokens; without them every token is 0
  bool line = true;           // Queueing, Claim::max_waiters; without it waiters have no order
  bool supersede = true;      // HolderInfo::supersede in claims
  bool one_clock = true;      // the times in records of all hosts are of one clock
  bool replicas = false;      // a grant can wait until replicas have it (--replicas)
  bool detached = true;   // holds that outlive the process: the commands acquire, renew and release
  bool may_hang = false;  // a call may hang in the kernel (a disk), where no interrupt ends it
};

class LockStore {
 public:
  LockStore() = default;
  LockStore(const LockStore&) = delete;
  LockStore& operator=(const LockStore&) = delete;
  virtual ~LockStore() = default;

  virtual StoreTraits traits() const = 0;

  // Returns the store's address for messages and DLOCK_HOLDS, as "redis://db1:6379/0", without a
  // password.
  virtual std::string where() const = 0;

  // Returns the key that stands for the name in the store (prefix + name). Errc::bad_usage: the
  // store could confuse it with keys of its own.
  virtual Result<std::string> key_of(const LockName& name) const = 0;

  // Acquires the names, joins an ancestor's hold of them, or returns who is in the way. A refused
  // claim waits in line as `queueing` says; to keep its place, it must be repeated every few
  // seconds. Errc::lost: a hold on which the claim relies was lost.
  virtual Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) = 0;

  // If the holds say the processes of their run (HolderInfo::group), adds these to their records.
  virtual Result<RenewReply> renew(const Holds& holds, Time limit) = 0;

  // For a member of a quorum: records these holds with their tokens and start times, and makes sure
  // that later grants of the names have larger tokens. Errc::lost: a hold is not recorded.
  // Errc::bad_usage: the store cannot be a member of a quorum.
  virtual Result<void> raise(const Holds& holds, Time limit);

  // Returns whether the holds are still ours, as reliably as renew, without extending the lease.
  // Exception: a lease that another holder has shortened after its renewal gets its former end
  // again.
  virtual Result<RenewReply> check(const Holds& holds, Time limit) = 0;

  // Releases those of the holds that are still held.
  virtual Result<ReleaseVerdict> release(const Holds& holds,
                                         const ReleaseOptions& options,
                                         Time limit) = 0;

  // Takes the claim out of the lines of its names. If it is the claim's turn, the turn goes to the
  // next waiter. `queueing`: how the claim waited after its last acquire.
  virtual Result<void> leave(const Claim& /*claim*/, Queueing /*queueing*/, Time /*limit*/) {
    return {};
  }

  // Starts to watch for the claim's turn: once this has returned, await_hand_off misses no turn of
  // the claim. `front`: the claim is one of the first waiters. Then await_hand_off also misses no
  // release by a program that keeps no line. If key tracking is on, it misses no change of the lock
  // at all from the next acquire on. Errc::denied or refused: the store cannot do this; poll
  // instead.
  virtual Result<Watching> watch(const Claim& claim, bool front, Time limit) = 0;

  // Starts to watch a hold: from its next renewal on, await_hand_off misses no change of the lock,
  // except this process's own changes.
  virtual Result<Watching> watch_hold(const Holds& holds, Time limit) = 0;

  // Waits until the watched lock changes, or until `until`. May return early without a change.
  // After an interrupt (Errc::cancelled) the lock is still watched.
  virtual Result<HandOff> await_hand_off(Time until) = 0;

  virtual Result<Holding> inspect(const LockName& name, Time limit) = 0;

  // Returns the names (without prefix) that may have a lock and match a glob of * ? [..], sorted.
  // Names of foreign locks are included.
  virtual Result<std::vector<std::string>> list(std::string_view glob, Time limit) = 0;

  virtual Result<RevokeReply> revoke(const LockName& name,
                                     const RevokeOrder& order,
                                     Time limit) = 0;

  // Forgets the newest success, so that the next run with once_per runs, and returns it; nullopt:
  // there was none.
  virtual Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) = 0;

  // Freezes the name, and returns its state just before. A later freeze replaces an earlier one.
  // While the name is frozen, only a run nested in a present hold is granted it. The present
  // holders go on, and the release of the last one leaves the lock kept until the freeze ends, so
  // that foreign programs find it held. The lock of a holder that dies without a release is kept
  // again from the next claim on.
  virtual Result<Holding> freeze(const LockName& name, const FreezeOrder& order, Time limit) = 0;

  // Ends the freeze, and returns it; nullopt: the name was not frozen.
  virtual Result<std::optional<Freeze>> unfreeze(const LockName& name, Time limit) = 0;
};

// Returns the error for a claim that relies on a hold of this name, which was lost
// (Claim::relies_on).
Error lost_above(const LockName& name);

// Returns the claim's hold of the name at index `which`, with the values of the hold's record.
Hold hold_of(const Claim& claim, std::size_t which, OwnerId owner, const HoldRecord& record);

}  // namespace dlock
