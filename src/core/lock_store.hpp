// SPDX-License-Identifier: MIT
// THE SEAM: what dlock asks of a place that keeps locks (Redis, a local directory, memory; later
// SQL, etcd, ZooKeeper). Everything above works on these words only.
//
// A store promises:
//   - one call = one bounded attempt: no retries, no sleeping beyond `limit` (a BootClock time);
//   - an error never means "no": Errc::timed_out and Errc::cancelled mean that the call may have
//     happened; a verdict (lost, not_held, busy) comes only from an authority, never from a
//     replica;
//   - `sent_at` is read before the first byte of the request that was confirmed is handed to the
//     kernel, and the lease on the server was set by that very request or a later one, so that
//     sent_at + ttl is never later than the end of the lease there;
//   - acquire, release and undo are idempotent by hold serial: repeating one counts nothing twice;
//   - renew extends, never shortens, never creates; nothing of another owner is ever changed;
//   - tokens of one name only grow;
//   - where it keeps a line (StoreTraits), a lock that is free goes to the first living waiter of
//   it,
//     and whoever does not take its turn within a second is passed over.
// It does not promise that a message arrives: waiters also ask now and then, which tells that they
// live.
// Calls are made from one thread at a time; only interrupts come from another (StoreOptions).
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "core/names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dlock {

// What a holder tells others about itself. Everyone who may inspect the lock can read it.
struct HolderInfo {
  std::string host;
  long pid = 0;
  std::string user;
  std::string command;  // short form, at most 200 bytes
  std::string reason;   // at most 256 bytes
  // Where `pid` is a process: the boot and the pid namespace. Only nested runs say it.
  std::string machine = {};
};

// One hold as recorded beside the lock.
struct HoldRecord {
  std::string id;  // "<owner>#<serial>"
  HolderInfo who;
  FencingToken token = 0;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
  Duration ttl{};
};

// Who waits in line, as recorded there.
struct Waiter {
  HolderInfo who;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
};

// How a name stands in the store at one moment.
struct Holding {
  struct Owner {
    OwnerId id;
    std::string count;  // as stored; a decimal number if all is well
  };
  enum class Kind { free, lock, foreign };
  Kind kind = Kind::free;
  std::string type;               // the store's word for it: "hash", "string", "list", …
  std::vector<Owner> owners;      // of a lock; at most 64 are listed
  std::uint64_t owner_count = 0;  // how many there are
  std::vector<HoldRecord> holds;  // what dlock recorded; empty for a holder that is not dlock
  // Nothing: it never expires. If it is free but for the line: of the turn of the first.
  std::optional<Duration> lease_left;
  std::int64_t now_ms = 0;    // wall clock of the store when it looked
  std::string revoked_by;     // "user@host", when renewals are refused
  std::uint64_t waiting = 0;  // how many stand in line
  std::uint64_t place = 0;    // of the claim that asked: 1 is next; 0: it does not stand there
  std::vector<Waiter> line;   // of inspect: the first of them, at most 64
};

// "user@host pid 812", escaped: how a holder is named in every sentence.
std::string who_text(const HolderInfo& who);

// How long a hold has lasted, by the store's wall clock; for people only, never negative.
std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding);

// The fencing token of whoever holds it, as recorded; 0 if none is.
FencingToken token_of(const Holding& holding);

// Whether a claim that is refused waits in line, and how it learns of its turn.
enum class Stand {
  no,
  listening,  // watches: a message that reaches nobody shows that it is dead
  polling,    // hears nothing, asks several times a second
};

struct Claim {
  LockName name;
  OwnerId owner;      // ours if we are a stranger
  HoldSerial serial;  // the same for every repetition of this claim
  Duration ttl{};
  HolderInfo who;
  std::vector<AncestorHold> ancestors;  // holds of this key above us, the nearest last
  Stand stand = Stand::no;
  std::optional<std::uint64_t> max_waiters = {};  // stand only where fewer do
};

// A hold that was granted: what renewing and releasing it takes.
struct Hold {
  LockName name;
  OwnerId owner;  // the ancestor's in a nested run
  HoldSerial serial;
  FencingToken token = 0;
  std::int64_t since_ms = 0;
  Duration ttl{};
  HolderInfo who;
  bool nested = false;
};

struct Grant {
  Hold hold;
  Time sent_at;
};
using AcquireReply = std::variant<Grant, Holding>;  // a Holding: busy, and with whom

enum class RenewVerdict {
  renewed,
  held,     // of check(): ours, and nothing was changed
  revoked,  // ours, but somebody asked us to give it up; the lease runs on until it ends
  lost,     // a master says: another's, or nobody's
};
struct RenewReply {
  RenewVerdict verdict = RenewVerdict::renewed;
  Time sent_at;
  std::string why;  // for revoked and lost: by whom, or what stands there now
};

enum class ReleaseVerdict {
  released,    // the lock is free now, waiters were told
  still_held,  // our hold is gone, nested ones or ancestors keep the lock
  not_held,    // there was nothing of ours (any more): a repetition, or a lost lease
};

struct RevokeOrder {
  std::string by;    // "user@host"
  bool now = false;  // delete at once: two may run
  std::optional<OwnerId> if_owner;
  std::optional<FencingToken> if_token;
};
enum class RevokeVerdict {
  revoked,       // renewals are refused from now on
  deleted,       // --now: gone, waiters were told
  nothing,       // it was free
  not_dlock,     // the holder does not look for revocations; only `now` can help
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
  std::string blind_because;  // changes that nobody tells of are not seen here, and why; else empty
};

struct StoreTraits {
  bool hand_off = true;     // watch() works here; otherwise waiters poll
  bool survives_us = true;  // the lease outlives our process until its ttl
  bool line = false;        // waiters are served in the order in which they came
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

  // Takes the lock, joins an ancestor's hold of it, or says who has it. A claim that is refused and
  // stands (Claim::stand) keeps its place in line by being repeated every few seconds.
  virtual Result<AcquireReply> acquire(const Claim& claim, Time limit) = 0;

  virtual Result<RenewReply> renew(const Hold& hold, Time limit) = 0;

  // Is it still ours? As sure as renew, but the lease stays as it is.
  virtual Result<RenewReply> check(const Hold& hold, Time limit) = 0;

  virtual Result<ReleaseVerdict> release(const Hold& hold, Time limit) = 0;

  // Takes the claim out of the line, if it stands there. A turn that it had goes to the next.
  virtual Result<void> leave(const Claim& /*claim*/, Time /*limit*/) { return {}; }

  // From its return on, await_hand_off misses no turn of this claim in the line; as one of the
  // first (`front`) also no release by whoever does not know the line, and, unless blind, no other
  // change of the lock that comes after the next acquire. Errc::denied or Errc::refused: no such
  // service here, poll instead.
  virtual Result<Watching> watch(const Claim& claim, bool front, Time limit) = 0;

  // The same for a holder: from the next renewal on, await_hand_off misses no change of the lock
  // but its own.
  virtual Result<Watching> watch_hold(const Hold& hold, Time limit) = 0;

  // Sleeps until there is news of what is watched, or until `until`. May wake for nothing. An
  // interrupt (Errc::cancelled) does not end the watching.
  virtual Result<HandOff> await_hand_off(Time until) = 0;

  virtual Result<Holding> inspect(const LockName& name, Time limit) = 0;

  // Names (without prefix) that match a glob of * ? [..], sorted; those a lock may stand at,
  // foreign ones included.
  virtual Result<std::vector<std::string>> list(std::string_view glob, Time limit) = 0;

  virtual Result<RevokeReply> revoke(const LockName& name,
                                     const RevokeOrder& order,
                                     Time limit) = 0;
};

// Takes back a claim whose answer was lost: releases its hold under every owner it may have got,
// and leaves the line.
Result<void> undo(LockStore& store, const Claim& claim, Time limit);

}  // namespace dlock
