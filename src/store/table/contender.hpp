// SPDX-License-Identifier: MIT
// Shared by the stores that keep one entry for each holder and each waiter of a lock, in their
// order of arrival: keys of etcd, nodes of ZooKeeper. The server deletes an entry when its lease or
// session ends, so an existing entry is alive. The time left is unknown; a lease counts with the
// full length that was asked for. Pure.
#pragma once

#include "base/result.hpp"
#include "store/table/lease_table.hpp"
#include "store/table/stored_lock.hpp"
#include "store/table/waiting_line.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::contender {

// Other stores' tokens are microseconds of a clock. To be comparable with them, a token here is the
// number of the write that granted it (a revision, a zxid) plus the epoch: a number kept in the
// store that makes the sum about that time.
//
// A claim that finds the epoch too small by its host's clock raises it, and a grant requires that
// the epoch has not changed since it was read. So the tokens of a store grow whatever the clocks
// say. The clocks matter only if the store has lost its data or replaces another store.
struct Epoch {
  std::int64_t value = 0;    // 0: no epoch
  std::int64_t version = 0;  // the store's version of the epoch

  static Epoch read(std::string_view text, std::int64_t version);
  std::string text() const { return std::to_string(value); }
  // Returns the epoch for a grant whose write has this number or a later one. It is larger than
  // `value` if otherwise the token would be more than k_late behind the clock, or not larger than
  // `known`. Tokens stay below 2^53 for numbers up to k_numbers.
  std::int64_t for_grant(std::int64_t number, std::int64_t wall_us, FencingToken known) const;

  static constexpr std::chrono::microseconds k_late = std::chrono::seconds(1);
  static constexpr std::int64_t k_most = std::int64_t{1} << 53;
  static constexpr std::int64_t k_numbers = k_most / 4;  // a clock past the year 2184 is ignored
};
// Returns the largest token recorded in these locks.
FencingToken largest_token(const std::vector<lease_table::StoredLock>& states);

// Returns a holder's value: a state file (record_json.hpp) with this lease alone, and the lease's
// length in place of its end. The file's token is the epoch. A hold whose token is 0 has as its
// token the epoch plus the number of the write that stores the value.
std::string lease_json(const OwnerId& owner,
                       lease_table::Lease lease,
                       Duration ttl,
                       std::uint32_t slots,
                       std::int64_t epoch = 0);

struct Holder {
  OwnerId owner;
  lease_table::Lease lease;
  std::uint32_t slots = 0;
};
// Returns the holder; nullopt: it is no holder's value. `written`: the number of the write that
// stored it.
std::optional<Holder> parse_lease(std::string_view json,
                                  FencingToken written,
                                  lease_table::StoreTime now);

// Returns the waiter; nullopt: it is no waiter's value. A waiter's value is place_json(). `arrival`
// grows along the line.
std::optional<lease_table::Place> parse_waiter(std::string_view json,
                                               std::int64_t arrival,
                                               lease_table::StoreTime now);
// How long a waiter that exists counts as alive when it is read. A new try makes it count as alive
// a little longer: that difference shows that there was a try.
constexpr Duration k_seen_alive = lease_table::k_line_life - Duration(1);

// Returns the index of the waiter that became the holder of this lease.
std::optional<std::size_t> waiter_of(const lease_table::Lease& lease,
                                     const std::map<std::string, std::size_t>& waiters);

// Adds to the error `why` of a step, if it is timed_out, that the locks changed `changes` times
// while the step read or wrote them, so that it does not look as if the server was silent. Returns
// any other error, or any error with 0 changes, as it is.
Error outpaced(const std::string& where,
               int changes,
               Error why = {Errc::timed_out, "no time left"});

// Returns copies of the states in the rows, for a step that changes them.
template <class Row>
std::vector<lease_table::StoredLock> states_of(const std::vector<Row>& rows) {
  std::vector<lease_table::StoredLock> states;
  states.reserve(rows.size());
  for (const Row& row : rows)
    states.push_back(row.state);
  return states;
}

// Returns whether there is something to write into the note of the lock. The note outlives all
// entries of the lock: it has the last success and the released holds of `acquire`.
bool has_note(const lease_table::StoredLock& state);
std::string note_json(const lease_table::StoredLock& state);
void take_note(std::string_view json, lease_table::StoredLock& state);

// Measures the turns of first waiters. These servers show no clock, so a waiter measures another
// waiter's turn of one second by its own clock, from when it saw that the turn had begun. Our own
// turn lasts until another waiter has ended it.
class Turns {
 public:
  // Sets until when the first waiter in the line of `state` counts as alive. `state` was just read.
  void note(const std::string& lock,
            lease_table::StoredLock& state,
            lease_table::StoreTime now,
            const std::function<bool(const std::string&)>& is_ours);

 private:
  struct Turn {
    std::string id;
    lease_table::StoreTime since;
  };
  std::map<std::string, Turn> turns_;  // by lock
};

}  // namespace dlock::contender
