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
//   - tokens of one name only grow.
// It does not promise order among waiters, nor that a hand-off message arrives: waiters also poll.
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

// How a name stands in the store at one moment.
struct Holding {
  struct Owner {
    OwnerId id;
    std::string count;  // as stored; a decimal number if all is well
  };
  enum class Kind { free, lock, foreign };
  Kind kind = Kind::free;
  std::string type;                    // the store's word for it: "hash", "string", "list", …
  std::vector<Owner> owners;           // of a lock; at most 64 are listed
  std::uint64_t owner_count = 0;       // how many there are
  std::vector<HoldRecord> holds;       // what dlock recorded; empty for a holder that is not dlock
  std::optional<Duration> lease_left;  // nothing: it never expires
  std::int64_t now_ms = 0;             // wall clock of the store when it looked
  std::string revoked_by;              // "user@host", when renewals are refused
};

// "user@host pid 812", escaped: how a holder is named in every sentence.
std::string who_text(const HolderInfo& who);

// How long a hold has lasted, by the store's wall clock; for people only, never negative.
std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding);

// The fencing token of whoever holds it, as recorded; 0 if none is.
FencingToken token_of(const Holding& holding);

struct Claim {
  LockName name;
  OwnerId owner;      // ours if we are a stranger
  HoldSerial serial;  // the same for every repetition of this claim
  Duration ttl{};
  HolderInfo who;
  std::vector<AncestorHold> ancestors;  // holds of this key above us, the nearest last
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

enum class HandOff { woken, timed_out };

struct StoreTraits {
  bool hand_off = true;     // watch() works here; otherwise waiters poll
  bool survives_us = true;  // the lease outlives our process until its ttl
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

  // Takes the lock, joins an ancestor's hold of it, or says who has it.
  virtual Result<AcquireReply> acquire(const Claim& claim, Time limit) = 0;

  virtual Result<RenewReply> renew(const Hold& hold, Time limit) = 0;

  virtual Result<ReleaseVerdict> release(const Hold& hold, Time limit) = 0;

  // From its return on, no hand-off of `name` is missed by await_hand_off. Errc::denied or
  // Errc::refused: no such service here, poll instead.
  virtual Result<void> watch(const LockName& name, Time limit) = 0;

  // Sleeps until the watched lock may have become free, or until `until`. May wake for nothing.
  virtual Result<HandOff> await_hand_off(Time until) = 0;

  virtual Result<Holding> inspect(const LockName& name, Time limit) = 0;

  // Names (without prefix) that match a glob of * ? [..], sorted; those a lock may stand at,
  // foreign ones included.
  virtual Result<std::vector<std::string>> list(std::string_view glob, Time limit) = 0;

  virtual Result<RevokeReply> revoke(const LockName& name,
                                     const RevokeOrder& order,
                                     Time limit) = 0;
};

// Takes back a claim whose answer was lost: releases its hold under every owner it may have got.
Result<void> undo(LockStore& store, const Claim& claim, Time limit);

}  // namespace dlock
