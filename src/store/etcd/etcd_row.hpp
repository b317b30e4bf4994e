// SPDX-License-Identifier: MIT
// A lock as etcd keeps it, and how a change of it is written. Pure.
//
// The keys of lock T:
//   T/<lease>      one for each holder and each waiter, named by the digits of the lease that the
//                  key was created with, as in etcdctl's lock and Go's concurrency package. The
//                  order of creation is the order of arrival. Our values are JSON: for a holder
//                  that of a state file (record_json.hpp), whose time is the requested length of
//                  its lease; for a waiter its place. Any other value is a foreign program's.
//   dlock-done/T   the last success, and the released holds of acquire
// Shared by all locks:
//   dlock-epoch    contender::Epoch
// A foreign key holds the lock if it is the first; a foreign key behind others waits, and is never
// passed over.
//
// If the token in a value is 0, the token is the sum of the epoch in the value and the key's
// revision.
//
// A lease of etcd ends by the clock of its leader, so the key of a holder or waiter proves that it
// is live. How long it has left is not known here: `until` is the requested length of its lease.
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
// The lock to which a key belongs; nullopt: it belongs to no lock.
std::optional<std::string> lock_of_key(std::string_view key);

struct EtcdRow {
  std::string lock;
  lease_table::StoredLock state;           // as it was read
  std::vector<EtcdKey> keys = {};          // keys of holders and waiters, oldest first
  std::map<OwnerId, std::size_t> holders;  // indices into `keys`
  std::map<std::string, std::size_t> waiters;
  std::optional<std::size_t> foreign;
  std::optional<EtcdKey> note;
};
EtcdRow row_of(std::string lock,
               std::vector<EtcdKey> keys,
               const std::vector<EtcdKey>& note,
               lease_table::StoreTime now);

// A change of locks, carried out in one go: first the leases, then one transaction.
struct EtcdChange {
  std::vector<EtcdRequest> leases;  // grants and keep-alives
  EtcdTxn txn;
  std::vector<EtcdLease> left;  // leases whose only key the transaction deletes
  bool grants = false;          // grants a lock, by the epoch of the step
};

struct EtcdStep {
  const lease_table::Moment& moment;
  EtcdRevision revision;                // at which the rows were read
  bool writes;                          // false: only waiters are written
  const std::vector<OwnerId>& renewed;  // as TableStore::Step::renews
  std::int64_t epoch = 0;               // of the grants
};
// Conditions: every key written is unchanged; if a key or holder is created, no key was added or
// changed; if a holder is created, the note is unchanged. A key that was deleted since the read
// does no harm, nor does a key that came and went, unless it left a note.
void add_change(const EtcdRow& before,
                const lease_table::StoredLock& after,
                const EtcdStep& step,
                EtcdChange& change);

// The change grants only if the epoch is still as it was read; the change raises it to `wanted`.
void add_etcd_epoch(const contender::Epoch& read, std::int64_t wanted, EtcdChange& change);

}  // namespace dlock
