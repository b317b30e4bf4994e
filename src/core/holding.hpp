// SPDX-License-Identifier: MIT
// Holding: what a store shows about a name at one moment: its holders and their leases, its
// waiters, and its remembered success. Values only, for display and for waiters.
#pragma once

#include "base/boot_clock.hpp"
#include "core/names.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The mode of a hold.
enum class Mode {
  plain,      // excludes all others
  exclusive,  // as the writer of a pair: a nested run may read, and may outlive it
  shared,     // together with other readers
  slots,      // one of several slots
};

// The word for users, in DLOCK_MODE, JSON and texts: "plain", "exclusive", "shared", "slots".
// Stores use other words (stored_mode in store/record_json.hpp).
std::string_view mode_word(Mode mode);

// What a holder publishes about itself. Every user who may inspect the lock can read it.
struct HolderInfo {
  static constexpr std::size_t k_command_bytes_max = 200;
  static constexpr std::size_t k_text_bytes_max = 256;  // limit of each other text

  std::string host;
  long pid = 0;
  std::string user;
  std::string command;  // short form
  std::string reason;
  // Where `pid` counts: the boot and the pid namespace. Set by nested runs only.
  std::string machine = {};

  bool operator==(const HolderInfo&) const = default;
};

// One hold as recorded beside the lock.
struct HoldRecord {
  std::string id;  // "<owner>#<serial>"
  HolderInfo who;
  FencingToken token = 0;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
  Duration ttl{};
  Mode mode = Mode::plain;
  std::optional<std::uint32_t> slot = {};  // of Mode::slots, from 0
  bool kept = false;                       // no holder any more: ReleaseOptions::keep
};

// A waiter as recorded in the line, with the mode that it claims.
struct Waiter {
  HolderInfo who;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // of Mode::slots

  bool operator==(const Waiter&) const = default;
};

// The newest successful run, remembered for claims with once_per.
struct LastSuccess {
  std::int64_t since_ms = 0;         // time of its grant, by the wall clock of the store
  std::chrono::milliseconds ago{};   // time since then; never negative
  std::chrono::milliseconds left{};  // time until it is forgotten
};

// How long a lease has left. An unknown time and a lease that never ends are different things.
class LeaseLeft {
 public:
  enum class Kind {
    not_known,
    exact,
    at_most,  // the store knows for how long leases are granted, but not when one was renewed
    never,    // ends
  };

  LeaseLeft() = default;  // not known
  template <class Rep, class Period>
  LeaseLeft(std::chrono::duration<Rep, Period> left)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::exact), left_(left) {}
  static LeaseLeft at_most(Duration left) { return {Kind::at_most, left}; }
  static LeaseLeft never() { return {Kind::never, {}}; }

  Kind kind() const { return kind_; }
  // The lease ends within this time unless it is renewed. nullopt: it never ends, or it is not
  // known.
  std::optional<Duration> within() const {
    const bool ends = kind_ == Kind::exact || kind_ == Kind::at_most;
    return ends ? std::optional(left_) : std::nullopt;
  }

  bool operator==(const LeaseLeft&) const = default;

 private:
  LeaseLeft(Kind kind, Duration left) : kind_(kind), left_(left) {}

  Kind kind_ = Kind::not_known;
  Duration left_{};
};

struct Vote;

// The holders and waiters of a name at one moment. Every caller sees the same.
struct Holding {
  struct Owner {
    OwnerId id;
    std::string count;  // as stored; a decimal number if all is well
    // Left of its own lease, if others may hold beside it; else unknown.
    LeaseLeft lease_left = {};
  };
  enum class Kind {
    none,     // no holder
    lock,     // as dlock and Redisson hold it
    foreign,  // a lock of another kind: a string of redis-py, a list, …
  };
  Kind kind = Kind::none;
  Mode mode = Mode::plain;        // of Kind::lock
  std::uint32_t slots = 0;        // of Mode::slots: their number
  std::string type;               // the store's word for it: "hash", "string", "ShedLock", …
  std::string doubt = {};         // of Kind::foreign: what seems wrong with it; mostly empty
  std::vector<Owner> owners;      // at most 64; of a foreign lock if it names one
  std::uint64_t owner_count = 0;  // number of holders
  std::vector<HoldRecord> holds;  // what dlock recorded; empty for a holder that is not dlock
  // Time until the end of the next lease makes room: for the refused claim, else for another holder
  // of the same mode.
  LeaseLeft lease_left = {};
  std::int64_t now_ms = 0;                  // wall clock of the store when it looked
  std::string revoked_by;                   // "user@host", if renewals are refused
  std::uint64_t waiting = 0;                // number of waiters in line
  std::vector<Waiter> line;                 // of inspect: the first 64 waiters at most
  std::optional<LastSuccess> success = {};  // of inspect
  std::vector<Vote> votes;                  // of a quorum: the word of each server

  bool lists_all_owners() const { return owner_count <= owners.size(); }
};

// `holding.lease_left` after the time `seen_ago`: unknown if a live holder may have renewed its
// lease in between.
LeaseLeft lease_left_after(const Holding& holding, Duration seen_ago);

// What one server of a quorum says about a name.
struct Vote {
  std::string server;   // without a password
  std::string trouble;  // why it gave no vote; empty: `holding` is its word
  Holding holding = {};
};

// "user@host pid 812", escaped: the name of a holder in every sentence.
std::string who_text(const HolderInfo& who);

// How long a hold has lasted, by the store's wall clock; for people only, never negative.
std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding);

// The fencing token recorded by the holder; 0: no token is recorded.
FencingToken token_of(const Holding& holding);

}  // namespace dlock
