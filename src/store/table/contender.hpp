// SPDX-License-Identifier: MIT
// For stores that keep one entry for each holder and each waiter of a lock, in the order of their
// arrival: a key in etcd, a node in ZooKeeper. The server deletes an entry when the lease or
// session of its process ends, so an entry that exists belongs to a living process. How much time a
// lease has left is unknown; it is taken to have its full length. Pure.
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

// A number that dlock keeps in the store and adds to the number of a write (a revision of etcd, a
// zxid of ZooKeeper) to make a fencing token. In other stores a token is a time in microseconds.
// With the epoch, a token here is about the same time, so that it can be compared with theirs.
//
// A claim raises the epoch if its host's clock shows that the epoch is too small. A grant fails if
// the epoch has changed since the claim read it. So the tokens of one store grow whatever the
// clocks show. The clocks matter only if the store has lost its data or has replaced another store.
struct Epoch {
  std::int64_t value = 0;    // the number itself; 0: the store has no epoch yet
  std::int64_t version = 0;  // version that the store has given to the entry with the epoch

  static Epoch read(std::string_view text, std::int64_t version);
  std::string text() const { return std::to_string(value); }
  // Returns the epoch for a grant. `number` is the number of the write that grants, or an earlier
  // one. Returns a larger epoch than `value` if otherwise the token would be more than k_late
  // behind the clock, or not larger than `known`. Tokens stay below 2^53 for numbers up to
  // k_numbers.
  std::int64_t for_grant(std::int64_t number, std::int64_t wall_us, FencingToken known) const;

  static constexpr std::chrono::microseconds k_late = std::chrono::seconds(1);
  static constexpr std::int64_t k_most = std::int64_t{1} << 53;
  // The largest number of a write with which tokens stay below k_most. To leave room for it, a
  // clock that shows a time after the year 2184 (k_most - k_numbers) is ignored.
  static constexpr std::int64_t k_numbers = k_most / 4;
};
// Returns the largest token among the holds of these locks.
FencingToken largest_token(const std::vector<lease_table::StoredLock>& states);

// Returns the text for the entry of a holder: a state file (record_json.hpp) that has only this
// lease, with the lease's length in place of its end. Its "token" is the epoch. If the token of a
// hold in it is 0, the hold's token is the epoch plus the number of the write that stores the text.
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
// Reads the entry of a holder; nullopt: it is not the entry of a holder. `written` is the number of
// the write that stored it.
std::optional<Holder> parse_lease(std::string_view json,
                                  FencingToken written,
                                  lease_table::StoreTime now);

// The numbers of the first and of the newest write of an entry.
struct Writes {
  std::int64_t created = 0;
  std::int64_t modified = 0;
};
// Reads the entry of a waiter, which is a text of place_json(); nullopt: it is not the entry of a
// waiter.
std::optional<lease_table::Place> parse_waiter(std::string_view json,
                                               const Writes& writes,
                                               lease_table::StoreTime now);
// How long a waiter counts as alive if only its entry was read. After a try of its own it counts as
// alive for k_line_life, which is a little longer. This difference shows whether there was a try.
constexpr Duration k_seen_alive = lease_table::k_line_life - Duration(1);

// What a store does with the entry that a waiter has already.
enum class EntryStep {
  keep,     // nothing: the waiter did not try
  renew,    // the waiter has tried, so its lease or session is renewed
  rewrite,  // the same, and the entry is written anew: other waiters must see the try (Turns)
  replace,  // the waiter has lost its place and is the last now: it needs a new entry
};
// `place`: the waiter's place after the change. `before`: the lock as it was read. The waiter must
// be in the line of both.
EntryStep entry_step(const lease_table::Place& place, const lease_table::StoredLock& before);

// Returns the index of the waiter that has become the holder of this lease.
std::optional<std::size_t> waiter_of(const lease_table::Lease& lease,
                                     const std::map<std::string, std::size_t>& waiters);

// Returns the error `why`. If it is Errc::timed_out and `changes` is not 0, its text also says that
// the locks changed so many times while they were read or written. Otherwise it would look as if
// the server had been silent.
Error outpaced(const std::string& where,
               int changes,
               Error why = {Errc::timed_out, "no time left"});

// Returns copies of the states in the rows, so that they can be changed.
template <class Row>
std::vector<lease_table::StoredLock> states_of(const std::vector<Row>& rows) {
  std::vector<lease_table::StoredLock> states;
  states.reserve(rows.size());
  for (const Row& row : rows)
    states.push_back(row.state);
  return states;
}

// Returns whether the lock needs a note. The note is an entry that outlives the holders' and
// waiters' entries. It keeps the last success (--once-per), the last run, the freeze, and which
// holds of `dlock acquire` were released.
bool has_note(const lease_table::StoredLock& state);
std::string note_json(const lease_table::StoredLock& state);
void take_note(std::string_view json, lease_table::StoredLock& state);

// Measures how long the first waiters' turns last. These servers show no clock. So a waiter
// measures another waiter's turn by its own clock, from the time at which it saw that the turn had
// begun; the turn is over after a second. A waiter's own turn lasts until another waiter has ended
// it.
//
// A waiter for several names may have to let its turn for one of them pass, because another name is
// still held. It is not notified each time that another waiter finds it in the way. Its turn lasts
// ten seconds, and begins anew with each of its tries, which writes its entry (EntryStep::rewrite).
class Turns {
 public:
  // Sets the time until which the first waiter in the line counts as alive. `state` was read just
  // now.
  void note(const std::string& lock,
            lease_table::StoredLock& state,
            lease_table::StoreTime now,
            const std::function<bool(const std::string&)>& is_ours);

 private:
  struct Turn {
    std::string id;
    std::int64_t written = 0;
    lease_table::StoreTime since;
  };
  std::map<std::string, Turn> turns_;  // the key is the lock
};

}  // namespace dlock::contender
