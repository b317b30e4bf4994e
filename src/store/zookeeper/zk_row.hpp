// SPDX-License-Identifier: MIT
// A lock as ZooKeeper keeps it, and how a change of it is written. Pure.
//
// The lock is a folder. In it stands one ephemeral node for each holder and each waiter, whose
// number is the order of arrival, under the names of Curator's recipes or of kazoo's (ZkLayout):
//   curator: …lock-N alone (InterProcessMutex, also go-zookeeper's Lock); …__WRIT__N and
//            …__READ__N (InterProcessReadWriteLock); …__SLOT__N slots, which only dlock knows
//   kazoo:   …__lock__N alone or a writer; …__rlock__N a reader; …__slot__N
// The data of ours is JSON (contender.hpp): of a holder, or of a waiter. Any other data is a
// foreign program's. Nodes with other names are not of the lock.
//
// Who holds is decided by position, as the recipes have it: a node that says it holds does so if
// none before it waits, and all before it that hold leave room for it. So no two nodes of one lock
// ever hold against each other, in whatever order they were written; a node that came with that
// word too early is a waiter. Once true it stays true: later nodes have larger numbers, and holders
// only grow weaker.
//
// What outlives them is the note: a node in a folder of its own beside the locks, whose data is
// contender::Epoch.
#pragma once

#include "store/contender.hpp"
#include "store/lease_table.hpp"
#include "store/stored_lock.hpp"
#include "store/zookeeper/zk_records.hpp"
#include "store/zookeeper/zk_url.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// What Curator's Revoker writes into the node of a holder that has to give way.
constexpr std::string_view k_zk_revoke = "__REVOKE__";

// Numbers end at 2147483647. Before that a claim whose own node gets such a number is refused, and
// takes an empty folder away, so that they begin anew; the numbers of others harm nobody.
constexpr std::int64_t k_zk_last_number = 2'000'000'000;

struct ZkPlace {
  Mode mode = Mode::plain;
  std::int64_t number = 0;
};
// Of a node in the folder of a lock; nullopt: it is not of the lock.
std::optional<ZkPlace> zk_place_of(ZkLayout layout, std::string_view node);
// Of a new node, without its number. No two are the same.
std::string zk_new_node(ZkLayout layout, Mode mode);

struct ZkContender {
  std::string path;
  std::string data;
  ZkStat stat;
  ZkPlace place = {};
  bool unread = false;   // it waits, and nothing else is known of it
  bool revoked = false;  // by Curator's Revoker; `data` is what was there before
};

struct ZkNote {
  std::string data;
  std::int32_t version = 0;
};

struct ZkRow {
  std::string lock;
  std::string folder;
  std::string note_path;
  bool has_folder = false;
  std::string others = {};              // who else may change it or the note, with acl=private
  lease_table::StoredLock state = {};   // as it was read
  std::vector<ZkContender> nodes = {};  // in the order of arrival
  std::map<OwnerId, std::size_t> holders = {};  // of these nodes
  std::map<std::string, std::size_t> waiters = {};
  std::set<std::size_t> early = {};       // waiters whose data says that they hold
  std::vector<std::size_t> foreign = {};  // that hold
  std::optional<ZkNote> note = {};
};
// Fills in what `nodes`, in any order, and `note` say.
void read_zk_row(ZkRow& row, lease_table::StoreTime now);

// Whether the first waiter may be removed once its turn is over: if it becomes a holder instead,
// its version is another one. That of one that is early would be the same.
bool may_be_passed_over(const ZkRow& row);

// What changes locks: the parts of one multi.
struct ZkChange {
  struct Made {
    std::size_t part = 0;
    std::size_t row = 0;
    bool holds = false;
  };
  std::vector<ZkRequest> parts;
  std::vector<Made> made;            // of the parts: new nodes, of the session of the claim
  std::vector<std::string> removed;  // paths of nodes
  // Sessions that have to be renewed with it, and the times for which they were made; zero: of a
  // waiter, which is ours.
  std::map<std::int64_t, Duration> renewed;
  bool makes_note = false;          // or needs the folder of notes
  bool grants = false;              // a lock: by the epoch of the step
  std::optional<Duration> longest;  // a lease was to be longer than its session: at most this
};

struct ZkStep {
  const lease_table::Moment& moment;
  ZkLayout layout;
  bool writes;                          // also what is no line
  bool proves_note;                     // a grant fails if the note has changed since
  const std::vector<OwnerId>& renewed;  // as TableStore::Step::renews
  std::int64_t epoch = 0;               // of what is granted
};
// `which`: the number of the row, for ZkChange::made. Each node that it touches is compared with
// its version. Nodes that come in between do no harm to a waiter that becomes a holder; a new node
// that says it holds has to be looked at again behind those that came before it (is_behind_others).
void add_zk_change(const ZkRow& before,
                   std::size_t which,
                   const lease_table::StoredLock& after,
                   const ZkStep& step,
                   ZkChange& change);

// The upper half of a zxid is the number of the leader, so each new leader takes tokens 2^32 us =
// 72 minutes forward. An epoch is made so that the leaders before it do not count; below 2^53 there
// is room for 500,000 leaders (Epoch::k_numbers).
//
// For a change that grants: it fails if the epoch, the data of the folder of notes, is not the one
// that was read, and raises it.
void add_zk_epoch(const std::string& folder,
                  const contender::Epoch& read,
                  std::int64_t wanted,
                  ZkChange& change);

// What proves by a quorum that the holders in the rows are still there; where there are none, that
// the folders are; where there are no folders it fails, as it should.
void add_zk_proof(const std::vector<ZkRow>& rows, ZkChange& change);

// Whether one of `children` came before the node `path` and is not in the row, by which the node
// was granted.
bool is_behind_others(const ZkRow& row,
                      ZkLayout layout,
                      const std::string& path,
                      const std::vector<std::string>& children);

}  // namespace dlock
