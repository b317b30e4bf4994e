// SPDX-License-Identifier: MIT
// Shared by the stores that keep one entry for each holder and each waiter of a lock, in the order
// of arrival: keys of etcd, nodes of ZooKeeper. The server ends an entry with its lease or session,
// so an existing entry is live. How long it has left is unknown: a lease counts with the length
// that was asked for. Pure.
#pragma once

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

// Tokens of other stores are microseconds of a clock. To be comparable, a token here is the number
// of the write that granted it (a revision, a zxid) plus the epoch: a number that the store keeps,
// and that makes the sum about that time.
//
// A claim that finds the epoch late by its host's clock raises it, and a grant requires that the
// epoch is still as it was read. So a store's tokens grow whatever the clocks say; these matter
// only when the store has lost its data, or takes over from another store.
struct Epoch {
  std::int64_t value = 0;    // 0: no epoch
  std::int64_t version = 0;  // the store's version of it

  static Epoch read(std::string_view text, std::int64_t version);
  std::string text() const { return std::to_string(value); }
  // The epoch for a grant at `number` or later: raised, if the token would be more than k_late
  // behind the clock, or not above `known`. Tokens stay below 2^53 for numbers up to k_numbers.
  std::int64_t for_grant(std::int64_t number, std::int64_t wall_us, FencingToken known) const;

  static constexpr std::chrono::microseconds k_late = std::chrono::seconds(1);
  static constexpr std::int64_t k_most = std::int64_t{1} << 53;
  static constexpr std::int64_t k_numbers =
      k_most / 4;  // a clock past the year 2184 is not believed
};
// The largest known token of these locks.
FencingToken largest_token(const std::vector<lease_table::StoredLock>& states);

// A holder's value: a state file (record_json.hpp) with this lease alone, whose time is the length
// that was asked for. If the token is 0, it is the number of the write that made the value plus the
// epoch, which stands as the file's token.
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
// nullopt: not a holder's value. `written`: the number of its write.
std::optional<Holder> parse_lease(std::string_view json,
                                  FencingToken written,
                                  lease_table::StoreTime now);

// A waiter's value is place_json(). `arrival` grows along the line. nullopt: not a waiter's value.
std::optional<lease_table::Place> parse_waiter(std::string_view json,
                                               std::int64_t arrival,
                                               lease_table::StoreTime now);
// How long an existing waiter counts as alive: a little less than a try of its own gives it, so
// that a try is recognised.
constexpr Duration k_seen_alive = lease_table::k_line_life - Duration(1);

// The waiter, by its id, that becomes the holder of this lease.
std::optional<std::size_t> waiter_of(const lease_table::Lease& lease,
                                     const std::map<std::string, std::size_t>& waiters);

// The states of the rows, for a step to change.
template <class Row>
std::vector<lease_table::StoredLock> states_of(const std::vector<Row>& rows) {
  std::vector<lease_table::StoredLock> states;
  states.reserve(rows.size());
  for (const Row& row : rows)
    states.push_back(row.state);
  return states;
}

// The last success and the released holds of `acquire` outlive all entries.
bool has_note(const lease_table::StoredLock& state);
std::string note_json(const lease_table::StoredLock& state);
void take_note(std::string_view json, lease_table::StoredLock& state);

// These servers have no clock for their users, so a waiter measures the second of the turn before
// its own by its own clock, from when it saw that turn. Our own turn lasts until another waiter has
// ended it.
class Turns {
 public:
  // Sets until when the first waiter in the line of `state`, just read, counts as alive.
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
