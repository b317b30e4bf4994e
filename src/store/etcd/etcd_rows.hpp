// SPDX-License-Identifier: MIT
// The rows of some locks, all read at one revision; the requests that read them; and which keys a
// waiter watches. Pure.
#pragma once

#include "core/lock_store.hpp"
#include "store/etcd/etcd_answers.hpp"
#include "store/etcd/etcd_line.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/etcd/etcd_row.hpp"
#include "store/table/contender.hpp"
#include "store/table/lease_table.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct EtcdRows {
  std::vector<LockName> names;
  std::vector<EtcdRow> rows;  // rows of the names, in the order of the names
  EtcdRevision revision = 0;  // the revision at which all rows were read
  std::int64_t term = 0;      // the term of the leader then (EtcdAnswer::term)
  lease_table::Moment moment;
  std::optional<contender::Epoch> epoch;  // not set if it was not read
  // For each name what its next read need not ask for.
  std::vector<std::optional<EtcdLine>> lines;
};

// One reading of the keys of locks, with their notes and, if wanted, the epoch.
class EtcdReading {
 public:
  // `ids`: ids of the claim or holds that reads. `known`: the lines of these names as an earlier
  // reading has left them; empty if there was none.
  EtcdReading(std::vector<LockName> names,
              std::vector<std::string> ids,
              std::vector<std::optional<EtcdLine>> known,
              bool with_epoch);

  // Returns the requests of the reading, which are parts of one transaction.
  std::vector<EtcdOperation> requests() const;

  // Returns the rows from the answer to a transaction of these requests. nullopt: some keys must be
  // asked for again; without `known`, this never happens.
  std::optional<EtcdRows> rows_of(EtcdAnswer answer, const lease_table::Moment& moment) const;

 private:
  std::vector<LockName> names_;
  std::vector<std::string> ids_;
  std::vector<std::optional<EtcdLine>> known_;
  bool with_epoch_;
};

// Returns the rows that a grant has left, with our own keys and their notes only. nullopt: a
// release cannot rely on them, because the change wrote something else, too. `written`: revision of
// the grant.
std::optional<EtcdRows> etcd_granted(const EtcdRows& before,
                                     const EtcdChange& change,
                                     EtcdRevision written);
// Returns the rows with the same keys and notes as they count at this moment.
EtcdRows etcd_rows_at(EtcdRows rows, const lease_table::Moment& moment);

// Returns the index of the key in the row with which one of these claims waits.
std::optional<std::size_t> etcd_place_of(const EtcdRow& row, const std::vector<std::string>& ids);

// Returns the rows as they are after these events, if all are deletes and the claim with these ids
// is then the first waiter of a lock without a holder. `rows` has one row.
std::optional<EtcdRows> etcd_turn(EtcdRows rows,
                                  const std::vector<EtcdEvent>& events,
                                  const std::vector<std::string>& ids);

// The keys that a process watches.
struct EtcdWatched {
  std::vector<EtcdRange> ranges;
  EtcdEvents events = EtcdEvents::all;
};
// Returns the keys that the claim or holds with these ids watch. A waiter that takes its lock alone
// gets it when the last key before its own is gone. So it watches the two keys before its own, of
// which one goes last; the second one shows it when the turn of the first waiter begins. A waiter
// that shares a lock or waits for several also watches two keys, from the third place on.
// Otherwise all keys of a lock are watched.
EtcdWatched etcd_watched(const std::vector<EtcdRow>& rows, const std::vector<std::string>& ids);
// Returns whether every event that `wanted` asks for is one that `watched` brings.
bool covers(const EtcdWatched& watched, const EtcdWatched& wanted);

}  // namespace dlock
