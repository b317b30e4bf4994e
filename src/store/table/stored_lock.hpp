// SPDX-License-Identifier: MIT
// StoredLock: one name's row in a table store (table_store.hpp), and functions that read it. The
// rules for changing rows are in lease_table.hpp.
#pragma once

#include "core/lock_store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlock::lease_table {

// The table's clock: this machine's, or a server's. A type of its own, so that its times are never
// compared with times on CLOCK_BOOTTIME.
struct StoreClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StoreClock>;
};
using StoreTime = StoreClock::time_point;

// Converts a time of BootClock to the time of a store whose clock is this machine's CLOCK_BOOTTIME.
constexpr StoreTime store_time(Time time) {
  return StoreTime(time.time_since_epoch());
}

// The latest time of a store's clock, and the latest other time in a store, that count as possible:
// in the years 2150 and 2259. Even with a lease of a hundred years, and as texts, they fit a
// Duration since 1970.
inline constexpr std::int64_t k_latest_clock_ms = std::int64_t{5'680'281'600} * 1000;
inline constexpr std::int64_t k_latest_ms = std::int64_t{9'150'000'000} * 1000;

// One owner's lease of a name.
struct Lease {
  std::map<HoldSerial, HoldRecord> holds;  // at least one; a kept lease has only one record
  StoreTime expires;                       // the lease is over at this time
  bool at_most = false;  // the lease may end earlier: the table does not say when it was renewed
  std::optional<std::string> revoked_by;  // if set, renewals are refused
};

// A successful run. Its times are wall clock, because it outlives the lease and a reboot.
struct Success {
  std::int64_t since_ms = 0;  // time of the run's grant
  std::int64_t until_ms = 0;  // the success is forgotten then
};

// A hold taken by `acquire` that was properly released.
struct ReleasedHold {
  std::string id;
  std::int64_t at_ms = 0;
};

// A waiter in the line of a name (waiting_line.hpp).
struct Place {
  std::string id;  // "<owner>#<serial>" of its claim
  // Grows along the line; a claim has the same arrival in all its lines.
  std::int64_t arrival_us = 0;
  StoreTime alive_until;  // the waiter's next try must come before this time
  Waiter waiter;

  bool operator==(const Place&) const = default;
};
using Line = std::vector<Place>;  // in order of arrival

// The hold of a program that shares the table and does not know dlock: ShedLock, etcdctl, …
struct ForeignHold {
  std::string type;                     // the kind of program, for display
  std::string who;                      // the program's name for itself, or what it wrote
  std::optional<StoreTime> until = {};  // the hold is over at this time; nullopt: unknown
  bool endless = false;                 // the hold never ends by itself
  std::optional<StoreTime> since = {};  // by the program's own clock, which may differ
  bool shared = false;                  // a reader's hold: other readers may hold the lock too
};

// The version of a lock's record format. A record names its version in a field whose own name never
// changes; without the field it is version 1. A lock may be changed to a later version only while
// the lock is free: otherwise an older dlock may be among its holders and waiters.
inline constexpr std::uint64_t k_layout = 1;  // the newest version that we know

// A lock: its leases, its line, and what outlives them.
struct StoredLock {
  std::uint64_t layout = k_layout;          // if above k_layout, nothing else of the lock is known
  std::map<OwnerId, Lease> leases;          // several leases: all readers' or all slots
  std::optional<ForeignHold> foreign = {};  // if set, only readers have leases
  std::uint32_t slots = 0;                  // for Mode::slots: the number of slots
  FencingToken token = 0;                   // the last granted token; it stays when the leases end
  std::optional<Success> success;
  std::vector<ReleasedHold> released;  // kept for a day; the newest ones
  Line line = {};                      // empty if the store keeps no line
};

// The rows of the names of a claim or of holds, in the order of the names.
using States = std::vector<StoredLock*>;
States pointers_to(std::vector<StoredLock>& all);

struct Moment {
  Time sent_at;              // when the caller sent its request, before it waited for the rows
  StoreTime now;             // when the caller had the rows for itself, by the table's clock
  std::int64_t wall_us = 0;  // wall clock, for display, successes and the least token
  // The store numbers its writes: a new grant has token 0 until its write has a number.
  bool numbers_writes = false;
};

std::int64_t wall_ms(const Moment& moment);

bool is_live(const Lease& lease, StoreTime now);
bool is_live(const ForeignHold& foreign, StoreTime now);
bool is_live(const StoredLock& state, StoreTime now);

// A kept lease (ReleaseOptions::keep) has no holder, and one record with this serial.
constexpr const char* k_kept = "kept";  // never the serial of a hold
bool is_kept(const Lease& lease);

// Returns the strongest mode: of a lease's holds, or of a name's leases.
Mode mode_of(const Lease& lease);
Mode mode_of(const StoredLock& state);

// Returns whether another owner fits beside the leases and the foreign hold, all of which are
// alive.
bool has_room(const StoredLock& state, Mode mode, std::uint32_t slots);

// Returns the place of a claim in a line, counted from 1; 0: the claim is not in the line.
std::uint64_t number_of(const Line& line, const std::string& id);
bool is_first(const Line& line, const std::string& id);  // also if the line is empty
void drop_place(Line& line, const std::string& id);
// Returns whether the first waiter fits. Requires a waiter in line, and a state without dead leases
// and silent waiters.
bool has_room_for_first(const StoredLock& state);

void make_free(StoredLock& state);  // removes the waiters, too
void drop_dead(StoredLock& state, StoreTime now);
void extend(Lease& lease, Duration ttl, StoreTime now);  // never shortens the lease

void note_release(StoredLock& state, const std::string& hold_id, const Moment& moment);
bool was_released(const StoredLock& state, const std::string& hold_id);

// What a watcher finds. A waiter in line finds its turn ("turn", "next"). "changed": a claim
// without a turn would be granted now, or a hold is lost or revoked. "timed_out": nothing new.
struct Sight {
  HandOff what = HandOff::timed_out;
  // When to look again, because a lease or a turn ends then without waking the watcher.
  std::optional<StoreTime> again = {};
  std::uint64_t place = 0;  // place of a claim in the first line that it is in; 0: not in line
};

}  // namespace dlock::lease_table
