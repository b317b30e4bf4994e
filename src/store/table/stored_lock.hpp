// SPDX-License-Identifier: MIT
// StoredLock: the row of one name in a table store (table_store.hpp), and functions that read it.
// The rules by which rows change are in lease_table.hpp.
#pragma once

#include "core/lock_store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlock::lease_table {

// The clock of a table: this machine's or a server's. It is a type of its own, so that its times
// cannot be compared with times of CLOCK_BOOTTIME by mistake.
struct StoreClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StoreClock>;
};
using StoreTime = StoreClock::time_point;

// Returns a time of BootClock as a time of a store, if the store's clock is this machine's
// CLOCK_BOOTTIME.
constexpr StoreTime store_time(Time time) {
  return StoreTime(time.time_since_epoch());
}

// The latest times that count as possible: k_latest_clock_ms (in the year 2150) for a store's
// clock, k_latest_ms (in the year 2259) for the other times in a store. Both fit into a Duration
// since 1970, the clock also with a lease of a hundred years added, and can be written as texts.
inline constexpr std::int64_t k_latest_clock_ms = std::int64_t{5'680'281'600} * 1000;
inline constexpr std::int64_t k_latest_ms = std::int64_t{9'150'000'000} * 1000;

// The lease that one owner has of a name.
struct Lease {
  // At least one; a kept lease has one, with the serial k_kept.
  std::map<HoldSerial, HoldRecord> holds;
  StoreTime expires;  // the end of the lease
  // The lease may end earlier than `expires`, because the table does not say when it was renewed.
  bool at_most = false;
  std::optional<std::string> revoked_by;  // who revoked the lease; if set, renewals are refused
};

// The last successful run (--once-per). Its times are of the wall clock, because a success outlives
// the lease and a reboot.
struct Success {
  std::int64_t since_ms = 0;  // when the run was granted the lock
  std::int64_t until_ms = 0;  // when the success is forgotten
};

// The newest run that reported its end. Its times are of the wall clock.
struct LastNote {
  LastRun run;
  FencingToken newest = 0;  // the largest token of all runs that have reported their end
  std::int64_t until_ms = 0;
};

// A freeze. Its times are of the wall clock, because a freeze outlives a reboot.
struct FreezeNote {
  OwnerId owner;  // of the kept lease that a free name gets
  HolderInfo who;
  std::int64_t since_ms = 0;
  std::int64_t until_ms = 0;
};

// A hold of `dlock acquire` that its holder has released.
struct ReleasedHold {
  std::string id;
  std::int64_t at_ms = 0;
};

// Who waits in a line, and for what. In a table it is a text, which is parsed when somebody first
// looks at it: of a long line only the first waiter is looked at.
class LineWaiter {
 public:
  LineWaiter() : LineWaiter(Waiter()) {}
  LineWaiter(Waiter waiter) : waiter_(std::make_shared<const Waiter>(std::move(waiter))) {}
  // `json` is the text of a waiter (record_json.hpp). If it cannot be read, nothing but the time is
  // known of the waiter.
  LineWaiter(std::string json, std::int64_t since_ms)
      : json_(std::move(json)), since_ms_(since_ms) {}

  const Waiter& operator*() const;
  const Waiter* operator->() const { return &**this; }
  bool operator==(const LineWaiter& other) const {
    const bool same = json_ == other.json_ && since_ms_ == other.since_ms_;
    return (same && !json_.empty()) || **this == *other;
  }

 private:
  std::string json_;
  std::int64_t since_ms_ = 0;
  mutable std::shared_ptr<const Waiter> waiter_;  // null: not parsed yet
};

// A waiter's place in the line of a name (waiting_line.hpp).
struct Place {
  std::string id;  // id of the waiter's claim, "<owner>#<serial>"
  // The line is in the order of this number. A claim of several names has one arrival in all lines.
  std::int64_t arrival_us = 0;
  StoreTime alive_until;  // the waiter counts as dead if its next try has not come by then
  LineWaiter waiter;
  // For stores that keep an entry for each waiter (contender.hpp): the waiter needs several names,
  // and the number of the newest write of its entry.
  bool several = false;
  std::int64_t written = 0;

  bool operator==(const Place&) const = default;
};
using Line = std::vector<Place>;  // in the order of arrival

// The hold of a program that uses the table without knowing dlock: ShedLock, etcdctl, …
struct ForeignHold {
  std::string type;                     // which program it is, for display
  std::string who;                      // what the program calls itself, or what it wrote
  std::optional<StoreTime> until = {};  // when the hold ends; nullopt: unknown
  bool endless = false;                 // the hold never ends by itself
  // When the hold began, by the clock of that program, which may be wrong.
  std::optional<StoreTime> since = {};
  // It is a reader's hold; other readers may hold the lock, too.
  bool shared = false;
};

// The version of the format of a lock's record. A record has its version in a field, whose name
// never changes; a record without this field has version 1. A lock may be written in a later
// version only while it is free, because an older dlock, which could not read it, may be among its
// holders and waiters.
inline constexpr std::uint64_t k_layout = 1;  // the newest version that this dlock knows

// The state of a lock: its leases, its line, and what stays when both are gone.
struct StoredLock {
  // Above k_layout: the lock was written by a newer dlock, and no other field is set.
  std::uint64_t layout = k_layout;
  // More than one only if all are readers' or all are slots.
  std::map<OwnerId, Lease> leases;
  std::optional<ForeignHold> foreign = {};  // if set, `leases` has only readers
  std::uint32_t slots = 0;                  // number of slots, for Mode::slots
  // Token of the newest grant; it stays when the leases end.
  FencingToken token = 0;
  std::optional<Success> success;
  std::optional<FreezeNote> frozen = {};
  std::optional<LastNote> last = {};
  std::vector<ReleasedHold> released;  // the newest ones; each stays for a day
  Line line = {};                      // empty if the store has no lines
};

// The states of the names of a claim, or of the names of holds, in the order of the names.
using States = std::vector<StoredLock*>;
States pointers_to(std::vector<StoredLock>& all);

struct Moment {
  Time sent_at;  // when the caller sent its request, before it waited for the rows
  // The time, by the table's clock, when the rows were locked against others or, for a call that
  // only looks, were read.
  StoreTime now;
  std::int64_t wall_us = 0;  // wall clock: for display, successes, arrivals and tokens
  // The store numbers its writes. A new grant then has token 0 until the number of its write is
  // known.
  bool numbers_writes = false;
};

std::int64_t wall_ms(const Moment& moment);

bool is_live(const Lease& lease, StoreTime now);
bool is_live(const ForeignHold& foreign, StoreTime now);
bool is_live(const StoredLock& state, StoreTime now);

// The serial in the only record of a kept lease (ReleaseOptions::keep), which has no holder.
constexpr const char* k_kept = "kept";  // no hold ever has this serial
bool is_kept(const Lease& lease);
// Returns whether a freeze keeps the lease. Unlike a hold that --min-hold keeps, it has no token.
bool is_of_freeze(const Lease& lease);

// Returns the strongest mode among a lease's holds, or among a name's leases.
Mode mode_of(const Lease& lease);
Mode mode_of(const StoredLock& state);

// Returns whether one more owner can hold the lock in this mode, beside the leases and the foreign
// hold in `state`. The leases, the foreign hold and the freeze must not have ended.
bool has_room(const StoredLock& state, Mode mode, std::uint32_t slots);

// Returns the place of the claim in the line, from 1; 0: the claim is not in the line.
std::uint64_t number_of(const Line& line, const std::string& id);
bool is_first(const Line& line, const std::string& id);  // true also if the line is empty
void drop_place(Line& line, const std::string& id);
// Returns whether the first waiter could hold the lock now. The line must not be empty, and leases
// that have ended and silent waiters must have been removed.
bool has_room_for_first(const StoredLock& state);

void make_free(StoredLock& state);  // removes leases, foreign hold and waiters
void drop_dead(StoredLock& state, StoreTime now);
void extend(Lease& lease, Duration ttl, StoreTime now);  // never shortens the lease

// Returns how long the name stays frozen: a positive time; nullopt: it is not frozen.
std::optional<std::chrono::milliseconds> freeze_left(const StoredLock& state, const Moment& moment);
// Gives a name that is frozen and otherwise free the lease that keeps it, for `owner`.
void keep_frozen(StoredLock& state, const OwnerId& owner, const Moment& moment);

void note_release(StoredLock& state, const std::string& hold_id, const Moment& moment);
bool was_released(const StoredLock& state, const std::string& hold_id);

// What a watcher sees in the rows. A waiter in line sees that its turn has come ("turn"), or that
// the lock will be its own if the first waiter does not take it ("next"). "changed": a claim
// without a turn would be granted now, or a hold is lost or revoked. "timed_out": nothing new.
struct Sight {
  HandOff what = HandOff::timed_out;
  // When to look again because nothing will wake the watcher: a lease or a turn ends then, or the
  // hold of another program may have ended.
  std::optional<StoreTime> again = {};
  // The claim's place in line, from 1; 0: in no line. With several lines, the place in the first
  // one that has the claim; if one of several names is enough, the best place.
  std::uint64_t place = 0;
};

}  // namespace dlock::lease_table
