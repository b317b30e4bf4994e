// SPDX-License-Identifier: MIT
// Holding: what a store shows about a name at one moment: its holders and their leases, its
// waiters, and its remembered success. It has only values, for display and for waiters to decide
// by.
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
  plain,  // excludes all other owners
  // -x: the writer of a reader-writer pair. Its nested runs may be readers, which may outlive it.
  exclusive,
  shared,  // -s: a reader, together with other readers
  slots,   // --slots: one of several slots
};

// Returns the mode's word for users, in DLOCK_MODE, JSON and texts: "plain", "exclusive", "shared"
// or "slots". Stores write other words (stored_mode in store/record_json.hpp).
std::string_view mode_word(Mode mode);

// Which runs a claim may end that also said --supersede and came before it. A run that said nothing
// is never ended.
enum class Supersede {
  nothing,
  waiting,  // those that wait
  holder,   // those that wait, and the holder if it said --supersede holder
};
// Returns the word of the option and of stored records; empty for Supersede::nothing.
std::string_view supersede_word(Supersede what);
Supersede parse_supersede(std::string_view word);  // nothing: not a known word

// What a holder publishes about itself. Every user who may inspect the lock can read it.
struct HolderInfo {
  static constexpr std::size_t k_command_bytes_max = 200;
  static constexpr std::size_t k_text_bytes_max = 256;  // limit of each of the other texts

  std::string host;
  long pid = 0;
  std::string user;
  std::string command;  // the command's first word, shortened; "acquire" for a hold of `acquire`
  std::string reason;
  // Names the boot of the machine and the pid namespace in which the pids are valid. Nested runs
  // set it in their claim, other runs with their first renewal.
  std::string machine = {};
  Supersede supersede = Supersede::nothing;  // which runs it may end, and may be ended by
  // With `supersede`: when the store first refused the claim, by the store's wall clock; 0: never,
  // or the store has no clock (StoreTraits::one_clock).
  std::int64_t came_ms = 0;
  // The guard's pid and the command's process group, set by the first renewal of a run; 0: unknown.
  long guard = 0;
  long group = 0;

  bool operator==(const HolderInfo&) const = default;
};

// The processes of a run. They exist only after the grant, so the first renewal records them.
struct RunProcesses {
  std::string machine;  // as HolderInfo::machine
  long guard = 0;
  long group = 0;
};

// One hold as recorded beside the lock.
struct HoldRecord {
  std::string id;  // "<owner>#<serial>"
  HolderInfo who;
  FencingToken token = 0;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
  Duration ttl{};
  Mode mode = Mode::plain;
  std::optional<std::uint32_t> slot = {};  // for Mode::slots: its number, from 0
  bool kept = false;  // the hold of no run: the name stays taken (--min-hold, or a freeze)
};

// A waiter as recorded in the line, with the mode that it claims.
struct Waiter {
  HolderInfo who;
  std::int64_t since_ms = 0;  // wall clock of the store, for people only
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;  // for Mode::slots: the number of slots

  bool operator==(const Waiter&) const = default;
};

// The newest successful run, remembered for --once-per.
struct LastSuccess {
  std::int64_t since_ms = 0;         // when the run was granted, by the wall clock of the store
  std::chrono::milliseconds ago{};   // time since the grant; never negative
  std::chrono::milliseconds left{};  // time until it is forgotten
};

// A freeze (dlock freeze): until it ends no new claim of the name is granted.
struct Freeze {
  HolderInfo who;                    // who froze the name, and the reason
  std::int64_t since_ms = 0;         // wall clock of the store, for people only
  std::chrono::milliseconds left{};  // time until the freeze ends by itself
};

// The newest run that reported its end when it released the name (RunEnd).
struct LastRun {
  HolderInfo who;
  FencingToken token = 0;
  std::int64_t since_ms = 0;  // when it was granted, and when it ended, by the store's wall clock
  std::int64_t ended_ms = 0;
  std::string outcome;                  // as RunEnd has it
  std::optional<int> exit_status = {};  // of the command
  std::optional<int> signal = {};       // the signal that ended the command
  std::optional<Duration> waited = {};  // for the lock
  // The lock was granted again since then, and is free, but that run has not reported its end, as
  // one that was killed or had --keep-last 0. Always false in etcd and ZooKeeper.
  bool later_is_silent = false;
};

// How much time a lease has left. "Not known" and "never ends" are different values.
class LeaseLeft {
 public:
  enum class Kind {
    not_known,
    exact,
    at_most,  // the store knows how long the lease is, but not when it was last renewed
    never,    // the lease never ends
  };

  LeaseLeft() = default;  // not known
  template <class Rep, class Period>
  LeaseLeft(std::chrono::duration<Rep, Period> left)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::exact), left_(left) {}
  static LeaseLeft at_most(Duration left) { return {Kind::at_most, left}; }
  static LeaseLeft never() { return {Kind::never, {}}; }

  Kind kind() const { return kind_; }
  // Returns the time within which the lease ends unless it is renewed; nullopt: the lease never
  // ends, or its end is not known.
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

// The holders and waiters of a name at one moment.
struct Holding {
  struct Owner {
    OwnerId id;
    std::string count;  // number of the owner's holds, as stored: normally a decimal number
    // The time left of this owner's lease. It is known only if several owners may hold the lock at
    // the same time.
    LeaseLeft lease_left = {};
  };
  enum class Kind {
    none,     // no holder
    lock,     // dlock's and Redisson's kind of lock
    foreign,  // a lock of another kind: a string of redis-py, a list, …
  };
  Kind kind = Kind::none;
  Mode mode = Mode::plain;  // for Kind::lock
  std::uint32_t slots = 0;  // for Mode::slots: the number of slots
  std::string type;  // the store's name for the kind of lock: "hash", "string", "ShedLock", …
  std::string doubt = {};     // for Kind::foreign: what seems wrong with the lock; usually empty
  std::vector<Owner> owners;  // at most 64; for a foreign lock: its owner, if known
  std::uint64_t owner_count = 0;  // the number of all owners, even if not all are listed
  std::vector<HoldRecord> holds;  // recorded by dlock; other programs record none
  // The time until a lease ends and makes room. In the answer to a claim: room for that claim;
  // otherwise: room for one more holder of the present mode.
  LeaseLeft lease_left = {};
  std::int64_t now_ms = 0;  // the store's wall clock at this moment
  // "user@host" of the revocation; empty: not revoked. If several owners were revoked: of the
  // first of them by id.
  std::string revoked_by;
  std::uint64_t waiting = 0;                // number of waiters in line
  std::vector<Waiter> line;                 // only from inspect: at most the first 64 waiters
  std::optional<LastSuccess> success = {};  // only from inspect
  std::optional<LastRun> last = {};         // only from inspect
  // Set while the name is frozen, also if a run holds it that started before the freeze.
  std::optional<Freeze> frozen = {};
  std::vector<Vote> votes;  // only from a quorum: the answer of each server

  bool lists_all_owners() const { return owner_count <= owners.size(); }
};

// Returns how much of the lease is left now, if the holding was seen `seen_ago` before:
// `holding.lease_left` minus that time. "Not known" if a living holder may have renewed its lease
// meanwhile.
LeaseLeft lease_left_after(const Holding& holding, Duration seen_ago);

// What one server of a quorum says about a name.
struct Vote {
  std::string server;   // without a password
  std::string trouble;  // why the server gave no vote; empty: `holding` is its answer
  Holding holding = {};
};

// Returns "user@host pid 812", safe for a terminal. Every sentence names a holder in this way.
std::string who_text(const HolderInfo& who);

// Returns how long a hold has lasted by the store's wall clock; for display only, never negative.
std::chrono::milliseconds age_of(const HoldRecord& hold, const Holding& holding);

// Returns the largest fencing token that the holders have recorded; 0: no token is recorded.
FencingToken token_of(const Holding& holding);

}  // namespace dlock
