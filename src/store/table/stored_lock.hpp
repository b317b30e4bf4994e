// SPDX-License-Identifier: MIT
// StoredLock: one name's row in a table store (table_store.hpp), and what can be read from it. The
// rules of its changes are in lease_table.hpp.
#pragma once

#include "core/lock_store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlock::lease_table {

// The table's clock: this machine's, or a server's. Its times compare only with each other, so that
// they are never taken for times on CLOCK_BOOTTIME.
struct StoreClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StoreClock>;
};
using StoreTime = StoreClock::time_point;

// The time in a table that keeps this machine's CLOCK_BOOTTIME.
constexpr StoreTime store_time(Time time) {
  return StoreTime(time.time_since_epoch());
}

// The latest times that are taken from a store, in the years 2150 and 2259: with a lease of a
// hundred years, and as texts, they fit a Duration since 1970.
inline constexpr std::int64_t k_latest_clock_ms = std::int64_t{5'680'281'600} * 1000;
inline constexpr std::int64_t k_latest_ms = std::int64_t{9'150'000'000} * 1000;

// One owner's lease of a name.
struct Lease {
  std::map<HoldSerial, HoldRecord> holds;  // at least one; or the record of a kept lease, alone
  StoreTime expires;                       // over at this instant
  bool at_most = false;                    // or before: the table does not tell when it was renewed
  std::optional<std::string> revoked_by;   // set: renewals are refused
};

// A successful run, by the wall clock: it outlives the lease, and a reboot.
struct Success {
  std::int64_t since_ms = 0;  // time of its grant
  std::int64_t until_ms = 0;  // forgotten then
};

// A hold of `acquire` that was properly released.
struct ReleasedHold {
  std::string id;
  std::int64_t at_ms = 0;
};

// A waiter in the line of a name (waiting_line.hpp).
struct Place {
  std::string id;               // "<owner>#<serial>" of its claim
  std::int64_t arrival_us = 0;  // grows along the line; a claim has the same in all its lines
  StoreTime alive_until;        // its next try must come before
  Waiter waiter;

  bool operator==(const Place&) const = default;
};
using Line = std::vector<Place>;  // in the order of arrival

// The lock is held by a program that shares the table and does not know dlock: ShedLock, etcdctl, …
struct ForeignHold {
  std::string type;                     // the kind of program, for display
  std::string who;                      // its name for itself, or what it wrote
  std::optional<StoreTime> until = {};  // over at this instant; nullopt: unknown
  bool endless = false;                 // it never ends by itself
  std::optional<StoreTime> since = {};  // by its own clock, which may differ
  bool shared = false;                  // it reads, and others may read beside it
};

// The layout of a lock's records. A record says its layout; without one it has the first. The names
// of these two fields never change. A later layout is for free locks only: while a lock is in use,
// an older dlock may be among its holders and waiters.
inline constexpr std::uint64_t k_layout = 1;  // the newest that we know

// The leases of a name, what outlives them, and its line.
struct StoredLock {
  std::uint64_t layout = k_layout;          // above k_layout nothing else of the lock is known
  std::map<OwnerId, Lease> leases;          // beside each other: all readers, or all slots
  std::optional<ForeignHold> foreign = {};  // then the only leases are readers'
  std::uint32_t slots = 0;                  // of Mode::slots: their number
  FencingToken token = 0;                   // last granted token; stays when the leases end
  std::optional<Success> success;
  std::vector<ReleasedHold> released;  // the newest, for a day
  Line line = {};                      // empty if the store keeps no line
};

// The rows of a claim's or holds' names, in the order of the names.
using States = std::vector<StoredLock*>;
States pointers_to(std::vector<StoredLock>& all);

struct Moment {
  Time sent_at;              // when the caller asked, before it waited for the state
  StoreTime now;             // when it had the state for itself, by the table's clock
  std::int64_t wall_us = 0;  // wall clock: for display, successes, and the least token
  // The store numbers its writes: a new grant has token 0 until it is written.
  bool numbers_writes = false;
};

std::int64_t wall_ms(const Moment& moment);

bool is_live(const Lease& lease, StoreTime now);
bool is_live(const ForeignHold& foreign, StoreTime now);
bool is_live(const StoredLock& state, StoreTime now);

// ReleaseOptions::keep: a lease without a holder, under this serial.
constexpr const char* k_kept = "kept";  // no hold has this serial
bool is_kept(const Lease& lease);

// A lease has the strongest mode of its holds, and a name that of its leases.
Mode mode_of(const Lease& lease);
Mode mode_of(const StoredLock& state);

// Whether another owner fits beside the leases and the foreign hold, all of which are live.
bool has_room(const StoredLock& state, Mode mode, std::uint32_t slots);

// The place of a claim in a line, counted from 1; 0: the claim is not in the line.
std::uint64_t number_of(const Line& line, const std::string& id);
bool is_first(const Line& line, const std::string& id);  // also if the line is empty
void drop_place(Line& line, const std::string& id);
// Requires a waiter in line, and a state without dead leases and silent waiters.
bool has_room_for_first(const StoredLock& state);

void make_free(StoredLock& state);  // removes the waiters, too
void drop_dead(StoredLock& state, StoreTime now);
void extend(Lease& lease, Duration ttl, StoreTime now);  // never shortens

void note_release(StoredLock& state, const std::string& hold_id, const Moment& moment);
bool was_released(const StoredLock& state, const std::string& hold_id);

// What a watcher finds: the turn of a waiter in line ("turn", "next"); "changed" if a claim would
// be granted though no turn was given, or a hold is lost or revoked; "timed_out": nothing new.
struct Sight {
  HandOff what = HandOff::timed_out;
  std::optional<StoreTime> again = {};  // a lease or a turn ends then, without waking a watcher
  std::uint64_t place = 0;              // of a claim, in the first of its lines; 0: not in line
};

}  // namespace dlock::lease_table
