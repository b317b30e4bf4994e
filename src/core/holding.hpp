// SPDX-License-Identifier: MIT
// Holding: what a store shows of a name at one moment: its holders and their leases, its waiters,
// and what is remembered of it. Values only, for people, and for those that wait.
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

// How a name is held.
enum class Mode {
  plain,      // alone
  exclusive,  // alone, as the writer of a pair: a nested run may read, and keep on reading after it
  shared,     // beside other readers
  slots,      // one of a number of slots
};

// What users read, in DLOCK_MODE, in JSON and in texts: "plain", "exclusive", "shared", "slots".
// Stores keep other words (stored_mode in store/record_json.hpp).
std::string_view mode_word(Mode mode);

// What a holder publishes about itself. Every user who may inspect the lock can read it.
struct HolderInfo {
  static constexpr std::size_t k_command_bytes_max = 200;
  static constexpr std::size_t k_text_bytes_max = 256;  // of each other text

  std::string host;
  long pid = 0;
  std::string user;
  std::string command;  // short form
  std::string reason;
  // Where `pid` is a process: the boot and the pid namespace. Only nested runs say it.
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
  bool kept = false;                       // without a holder: ReleaseOptions::keep
};

// A waiter as recorded in the line, with the mode that it claims.
struct Waiter {
  HolderInfo who;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // of Mode::slots

  bool operator==(const Waiter&) const = default;
};

// The newest run that succeeded and is remembered for those with once_per.
struct LastSuccess {
  std::int64_t since_ms = 0;         // when it was granted, by the wall clock of the store
  std::chrono::milliseconds ago{};   // that long ago; never negative
  std::chrono::milliseconds left{};  // until it is forgotten
};

// How long a lease has left. What is not known is something else than a lease that never ends.
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
  // Unless it is renewed, it has ended after that. nullopt: it never does, or that is not known.
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

// The holders and waiters of a name at one moment. The same for every caller.
struct Holding {
  struct Owner {
    OwnerId id;
    std::string count;  // as stored; a decimal number if all is well
    // Of its own lease, where others may hold beside it; elsewhere not known.
    LeaseLeft lease_left = {};
  };
  enum class Kind {
    none,     // by no one
    lock,     // as dlock and Redisson hold it
    foreign,  // by a lock of another kind: a string of redis-py, a list, …
  };
  Kind kind = Kind::none;
  Mode mode = Mode::plain;        // of a lock
  std::uint32_t slots = 0;        // of Mode::slots: how many there are
  std::string type;               // the store's word for it: "hash", "string", "ShedLock", …
  std::string doubt = {};         // of foreign: what seems wrong with it, for people; mostly empty
  std::vector<Owner> owners;      // at most 64 are listed; of a foreign lock where it names one
  std::uint64_t owner_count = 0;  // how many there are
  std::vector<HoldRecord> holds;  // what dlock recorded; empty for a holder that is not dlock
  // Until the next lease ends that makes room: for the claim that was refused, else for the next
  // holder of the same kind.
  LeaseLeft lease_left = {};
  std::int64_t now_ms = 0;                  // wall clock of the store when it looked
  std::string revoked_by;                   // "user@host", when renewals are refused
  std::uint64_t waiting = 0;                // how many wait in line
  std::vector<Waiter> line;                 // of inspect: the first of them, at most 64
  std::optional<LastSuccess> success = {};  // of inspect
  std::vector<Vote> votes;                  // of a quorum: how each of its servers stands

  bool lists_all_owners() const { return owner_count <= owners.size(); }
};

// What is known of `holding.lease_left` that long after the look: not known where a holder that
// renews its lease may have done so since.
LeaseLeft lease_left_after(const Holding& holding, Duration seen_ago);

// What one server of a quorum says of a name.
struct Vote {
  std::string server;   // without a password
  std::string trouble;  // why it has no vote; empty: `holding` is its word
  Holding holding = {};
};

// "user@host pid 812", escaped: how a holder is named in every sentence.
std::string who_text(const HolderInfo& who);

// How long a hold has lasted, by the store's wall clock; for people only, never negative.
std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding);

// The fencing token of the holder, as recorded; 0 if none is.
FencingToken token_of(const Holding& holding);

}  // namespace dlock
