// SPDX-License-Identifier: MIT
// A lock as etcd keeps it, and how a change of it is written. Pure.
//
// Of the lock T:
//   T/<lease>      one for each holder and each waiter, as etcdctl's lock and Go's concurrency
//   package
//                  name theirs: the digits of the lease that it was made on. The order of creation
//                  is the order of arrival. Ours have JSON as value: of a holder that of a state
//                  file (record_json.hpp), whose time is how long its lease was asked for; of a
//                  waiter that of its place. Any other value is a foreign program's.
//   dlock-done/T   the last success, and the released holds of acquire
// Of all locks:
//   dlock-epoch    contender::Epoch
// A foreign key holds the lock if it is the first; one behind others waits, and is never passed
// over.
//
// A token that is 0 in a value is the epoch, which is in the value too, and its revision.
//
// A lease of etcd ends by the clock of its leader, so a holder that is there is live, and a waiter
// as well. For how long is not known here: `until` is as long as its lease was asked for.
#pragma once

#include "store/contender.hpp"
#include "store/etcd/etcd_answers.hpp"
#include "store/etcd/etcd_requests.hpp"
#include "store/lease_table.hpp"
#include "store/stored_lock.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

EtcdRange keys_of_lock(const std::string& lock);
std::string note_of_lock(const std::string& lock);
constexpr std::string_view k_etcd_epoch = "dlock-epoch";
// The lock that a key is of; nullopt: it is no key of a lock.
std::optional<std::string> lock_of_key(std::string_view key);

struct EtcdRow {
  std::string lock;
  lease_table::StoredLock state;           // as it was read
  std::vector<EtcdKey> keys = {};          // of holders and waiters, oldest first
  std::map<OwnerId, std::size_t> holders;  // of these keys
  std::map<std::string, std::size_t> waiters;
  std::optional<std::size_t> foreign;
  std::optional<EtcdKey> note;
};
EtcdRow row_of(std::string lock,
               std::vector<EtcdKey> keys,
               const std::vector<EtcdKey>& note,
               lease_table::StoreTime now);

// What changes locks, in one go: first what concerns leases, then one transaction.
struct EtcdChange {
  std::vector<EtcdRequest> leases;  // grants and keep-alives
  EtcdTxn txn;
  std::vector<EtcdLease> left;  // by the transaction: their only key is gone
  bool grants = false;          // a lock: by the epoch of the step
};

struct EtcdStep {
  const lease_table::Moment& moment;
  EtcdRevision revision;                // of the read
  bool writes;                          // also what is no line
  const std::vector<OwnerId>& renewed;  // as TableStore::Step::renews
  std::int64_t epoch = 0;               // of what is granted
};
// It compares each key that it touches; if it makes a key or a holder, that none has come or
// changed; and if it makes a holder, the note. A key that has gone makes no decision wrong that was
// right while it was there; nor does one that came and went, but for its note.
void add_change(const EtcdRow& before,
                const lease_table::StoredLock& after,
                const EtcdStep& step,
                EtcdChange& change);

// For a change that grants: it fails if the epoch is not the one that was read, and raises it.
void add_etcd_epoch(const contender::Epoch& read, std::int64_t wanted, EtcdChange& change);

}  // namespace dlock
