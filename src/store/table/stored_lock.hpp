// SPDX-License-Identifier: MIT
// StoredLock: one name's row in a table store (table_store.hpp), and what can be read from it. The
// rules by which it changes are in lease_table.hpp.
#pragma once

#include "core/lock_store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlock::lease_table {

// The clock of the table: of this machine, or of a server. Its times compare only with each other,
// so that none of them passes for a time on CLOCK_BOOTTIME.
struct StoreClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StoreClock>;
};
using StoreTime = StoreClock::time_point;

// Of a table that keeps CLOCK_BOOTTIME of this machine.
constexpr StoreTime store_time(Time time) {
  return StoreTime(time.time_since_epoch());
}

// The latest times that are taken from a store, in the years 2150 and 2259: a clock and a lease of
// a hundred years, and what was written of them, fit a Duration since 1970.
inline constexpr std::int64_t k_latest_clock_ms = std::int64_t{5'680'281'600} * 1000;
inline constexpr std::int64_t k_latest_ms = std::int64_t{9'150'000'000} * 1000;

// What one owner has of a name.
struct Lease {
  std::map<HoldSerial, HoldRecord> holds;  // at least one; or the record of a kept lease, alone
  StoreTime expires;                       // at this instant it is over
  bool at_most = false;                    // or before: the table does not tell when it was renewed
  std::optional<std::string> revoked_by;   // set: renewals are refused
};

// A run that succeeded, by the wall clock: it outlives the lease, and a reboot.
struct Success {
  std::int64_t since_ms = 0;  // when it was granted
  std::int64_t until_ms = 0;  // then it is forgotten
};

// A hold of acquire that was released in good order.
struct ReleasedHold {
  std::string id;
  std::int64_t at_ms = 0;
};

// A waiter in the line of a name (waiting_line.hpp).
struct Place {
  std::string id;               // "<owner>#<serial>" of its claim
  std::int64_t arrival_us = 0;  // grows along the line; of a claim the same in all its lines
  StoreTime alive_until;        // its next try has to come before
  Waiter waiter;

  bool operator==(const Place&) const = default;
};
using Line = std::vector<Place>;  // in the order of arrival

// A program that shares the table and knows nothing of dlock has the lock: ShedLock, etcdctl, …
struct ForeignHold {
  std::string type;                     // for people: the kind of program
  std::string who;                      // what it calls itself, or what it wrote
  std::optional<StoreTime> until = {};  // at this instant it is over; nullopt: not known
  bool endless = false;                 // it has no such instant
  std::optional<StoreTime> since = {};  // by the clock that it has, which may be another
  bool shared = false;                  // it reads, and others may read beside it
};

// How the records of a lock are made. A record says its layout, and one that says none has the
// first; the words for that and for the name stay. A later layout is for locks that are free: while
// one is in use, an older dlock may be among its holders and waiters.
inline constexpr std::uint64_t k_layout = 1;  // the newest that we know

// The leases of a name, what outlives them, and its line.
struct StoredLock {
  std::uint64_t layout = k_layout;          // above it nothing else of the lock is known
  std::map<OwnerId, Lease> leases;          // beside each other: all readers, or all have a slot
  std::optional<ForeignHold> foreign = {};  // then there are no leases but those of readers
  std::uint32_t slots = 0;                  // of Mode::slots: how many there are
  FencingToken token = 0;                   // the last one given out; stays when the leases end
  std::optional<Success> success;
  std::vector<ReleasedHold> released;  // the newest, of a day
  Line line = {};                      // empty where the store keeps no line
};

// The rows of the names of a claim or of holds, in the order of the names.
using States = std::vector<StoredLock*>;
States pointers_to(std::vector<StoredLock>& all);

struct Moment {
  Time sent_at;              // when the caller asked: before it waited for the state
  StoreTime now;             // when it had the state for itself, by the clock of the table
  std::int64_t wall_us = 0;  // wall clock: for people, successes, and as a lower bound of tokens
  // The store numbers its writes: what is granted now has token 0 until it is written.
  bool numbers_writes = false;
};

std::int64_t wall_ms(const Moment& moment);

bool is_live(const Lease& lease, StoreTime now);
bool is_live(const ForeignHold& foreign, StoreTime now);
bool is_live(const StoredLock& state, StoreTime now);

// ReleaseOptions::keep: a lease without a holder, under this serial.
constexpr const char* k_kept = "kept";  // no hold is called so
bool is_kept(const Lease& lease);

// A lease is as strong as the strongest of its holds, and a name is held as its leases are.
Mode mode_of(const Lease& lease);
Mode mode_of(const StoredLock& state);

// Whether one more owner fits beside the leases, which are all live, as is a foreign hold.
bool has_room(const StoredLock& state, Mode mode, std::uint32_t slots);

// The place of a claim in a line, counted from 1; 0: the claim is not in the line.
std::uint64_t number_of(const Line& line, const std::string& id);
bool is_first(const Line& line, const std::string& id);  // true also if the line is empty
void drop_place(Line& line, const std::string& id);
// Requires a line that is not empty, and a state without dead leases and silent waiters.
bool has_room_for_first(const StoredLock& state);

void make_free(StoredLock& state);  // the waiters are gone as well
void drop_dead(StoredLock& state, StoreTime now);
void extend(Lease& lease, Duration ttl, StoreTime now);  // never shortens

void note_release(StoredLock& state, const std::string& hold_id, const Moment& moment);
bool was_released(const StoredLock& state, const std::string& hold_id);

// What a watcher finds: the turn of a waiter in line ("turn", "next"); "changed" if a claim would
// be granted though no turn was given, or a hold is lost or revoked; "timed_out": nothing new.
struct Sight {
  HandOff what = HandOff::timed_out;
  std::optional<StoreTime> again = {};  // a lease or a turn ends then, which tells no watcher
  std::uint64_t place = 0;              // of a claim, in the first of its lines; 0: in none
};

}  // namespace dlock::lease_table
