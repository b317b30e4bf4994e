// SPDX-License-Identifier: MIT
// A lock as etcd keeps it, and the requests that change it. Pure.
//
// The keys of lock T:
//   T/<lease>      one for each holder and each waiter, named by the digits of its lease, as in
//                  etcdctl's lock and Go's concurrency package. The order of creation is the order
//                  of arrival. Our values are JSON: for a holder a record of its holds
//                  (lease_json() in contender.hpp) with the requested length of its lease; for a
//                  waiter its claim. A key with any other value belongs to a foreign program.
//   dlock-done/T   last success, last run, freeze, and released holds of acquire
// Shared by all locks:
//   dlock-epoch    the epoch: a number that, added to a revision, makes a fencing token. It lets
//                  tokens grow even if etcd has lost its data (contender::Epoch).
// A foreign key holds the lock if it is the first key; a foreign key behind others waits, and is
// never passed over.
//
// If the token in a value is 0, the hold's token is the epoch in the value plus the key's revision.
//
// A lease ends by the clock of etcd's leader, which then deletes its keys. So the key of a holder
// or waiter proves that it is alive. How long its lease has left is not known here: the row has the
// requested length.
#pragma once

#include "store/etcd/etcd_answers.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/table/contender.hpp"
#include "store/table/lease_table.hpp"
#include "store/table/stored_lock.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

EtcdRange keys_of_lock(const std::string& lock);
std::string note_of_lock(const std::string& lock);
constexpr std::string_view k_etcd_epoch = "dlock-epoch";
// Returns the lock to which a key belongs; nullopt: it belongs to no lock.
std::optional<std::string> lock_of_key(std::string_view key);

struct EtcdRow {
  std::string lock;
  lease_table::StoredLock state;           // of the lock, as it was read
  std::vector<EtcdKey> keys = {};          // keys of holders and waiters, in the order of creation
  std::map<OwnerId, std::size_t> holders;  // indices into `keys`, by owner
  std::map<std::string, std::size_t> waiters;
  std::optional<std::size_t> foreign;
  std::optional<EtcdKey> note;
  // Other locks, whose names begin with this lock's name and a '/', have keys in its range.
  bool shares_range = false;
};
EtcdRow row_of(std::string lock,
               std::vector<EtcdKey> keys,
               const std::vector<EtcdKey>& note,
               lease_table::StoreTime now);

// A change of locks: requests for leases, then one transaction.
struct EtcdChange {
  std::vector<EtcdRequest> leases;  // grants and keep-alives
  EtcdTxn txn;
  std::vector<EtcdLease> left;  // leases that have no key after the transaction
  bool grants = false;          // the change grants a lock, with EtcdStep::epoch
  bool moves = false;           // the change moves a hold (EtcdStep::moves)
  // The change makes the key of a waiter, whatever other keys have come since the read.
  bool joins = false;
};

struct EtcdStep {
  const lease_table::Moment& moment;
  EtcdRevision revision;                // the revision at which the rows were read
  bool writes;                          // false: only waiters are changed
  bool proves;                          // no key of the lock may have been added or changed
  const std::vector<OwnerId>& renewed;  // owners whose leases are to be renewed
  // What is renewed gets a new lease, one that earlier leaders do not know. A leader that was
  // stalled and goes on ends the leases that it knows, even if they were renewed meanwhile (etcd's
  // issue 15247; seen with 3.4.23, 3.5.16 and 3.6.8).
  bool moves = false;
  bool proves_note = false;  // the note must be unchanged, whatever the change does
  std::int64_t epoch = 0;    // a grant's token is this plus its revision
  // The step is that of a claim to which keys behind its own make no difference.
  bool ignores_later = false;
  // The lease of the key with which such a claim joins the line. If an answer was lost, the next
  // try has this lease again, so that a late copy of the first try makes no second key.
  EtcdLease line_lease = 0;
};
// Adds the change of one lock, with conditions under which etcd carries it out: each key that the
// change writes is unchanged since the read; if it creates a holder, the note is unchanged; if it
// creates a key or a holder, no key of the lock was added or changed. Other keys that were deleted
// since the read, or added and deleted, do no harm as long as the note is unchanged.
//
// With EtcdStep::ignores_later, waiters that come at the same time do not make each other's changes
// fail. A waiter that joins a line behind others needs only that its own key does not exist: what
// has come since stands before it, and it waits anyway. A first waiter that takes a free lock needs
// that no key is older than its own. A younger key cannot be a holder's: only a first waiter is
// granted a lock, and to pass over another one means to delete its key. A freeze, which makes the
// key of a holder behind waiters, changes the note.
void add_change(const EtcdRow& before,
                const lease_table::StoredLock& after,
                const EtcdStep& step,
                EtcdChange& change);

// Adds the condition that the epoch (the value of dlock-epoch, which makes tokens grow) is still as
// it was read, and a write that raises it to `wanted`.
void add_etcd_epoch(const contender::Epoch& read, std::int64_t wanted, EtcdChange& change);

}  // namespace dlock
