// SPDX-License-Identifier: MIT
// A lock as ZooKeeper keeps it, and how a change of it is written. Pure.
//
// The lock is a folder. In it stands one ephemeral node for each holder and each waiter, whose
// number is the order of arrival, under the names of Curator's recipes or of kazoo's (ZkLayout):
//   curator: …lock-N exclusive (InterProcessMutex, also go-zookeeper's Lock); …__WRIT__N and
//            …__READ__N (InterProcessReadWriteLock); …__SLOT__N slots, which only dlock knows
//   kazoo:   …__lock__N exclusive or a writer; …__rlock__N a reader; …__slot__N
// The data of our nodes is JSON (contender.hpp). A node with other data is a foreign program's. A
// node with another name does not belong to the lock.
//
// Position decides who holds, as in the recipes: a node whose data says "holder" holds the lock if
// no waiter is before it and all holders before it leave room for it. So two nodes of one lock
// never hold against each other, in whatever order they were written; a node that says "holder" too
// early is a waiter. A node that holds keeps holding: later nodes have larger numbers, and the
// holders before it only grow weaker.
//
// The note outlives the nodes: it is a node in a folder beside the locks, whose data is
// contender::Epoch.
#pragma once

#include "store/table/contender.hpp"
#include "store/table/lease_table.hpp"
#include "store/table/stored_lock.hpp"
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

// Curator's Revoker writes this into the node of a holder that has to give way.
constexpr std::string_view k_zk_revoke = "__REVOKE__";

// Numbers end at 2147483647. A claim whose own node gets this number or a larger one removes the
// folder if it is empty, so that numbers begin anew; otherwise the claim is refused. Other claims
// are not concerned.
constexpr std::int64_t k_zk_last_number = 2'000'000'000;

struct ZkPlace {
  Mode mode = Mode::plain;
  std::int64_t number = 0;
};
// Reads the name of a node in the folder of a lock; nullopt: the node does not belong to the lock.
std::optional<ZkPlace> zk_place_of(ZkLayout layout, std::string_view node);
// Returns a unique name for a new node, without its number.
std::string zk_new_node(ZkLayout layout, Mode mode);

struct ZkContender {
  std::string path;
  std::string data;
  ZkStat stat;
  ZkPlace place = {};
  bool unread = false;   // a waiter of which nothing else is known
  bool revoked = false;  // by Curator's Revoker; `data` is what it overwrote
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
  std::string others = {};  // with acl=private: other users who may change the lock or its note
  lease_table::StoredLock state = {};           // as it was read
  std::vector<ZkContender> nodes = {};          // in the order of arrival
  std::map<OwnerId, std::size_t> holders = {};  // indices into `nodes`
  std::map<std::string, std::size_t> waiters = {};
  std::set<std::size_t> early = {};       // waiters whose data says that they hold
  std::vector<std::size_t> foreign = {};  // foreign holders
  std::optional<ZkNote> note = {};
};
// Fills in what `nodes`, in any order, and `note` say.
void read_zk_row(ZkRow& row, lease_table::StoreTime now);

// Whether the first waiter may be removed once its turn is over. Becoming a holder changes the
// node's version, so a conditional removal is safe. An early or foreign node keeps its version when
// it becomes a holder, so it must not be removed.
bool may_be_passed_over(const ZkRow& row);

// What changes locks: the parts of one multi.
struct ZkChange {
  struct Made {
    std::size_t part = 0;
    std::size_t row = 0;
    bool holds = false;
  };
  std::vector<ZkRequest> parts;
  std::vector<Made> made;            // new nodes, by their part; owned by the claim's session
  std::vector<std::string> removed;  // paths of nodes
  // The sessions that the change has to renew, and the times for which they were made; zero: a
  // waiter's session, which is ours.
  std::map<std::int64_t, Duration> renewed;
  bool makes_note = false;          // makes a note, or the folder of notes
  bool grants = false;              // grants a lock, by the epoch of the step
  std::optional<Duration> longest;  // a lease was to outlast its session: at most this long
};

struct ZkStep {
  const lease_table::Moment& moment;
  ZkLayout layout;
  bool writes;                          // false: only waiters are written
  bool proves_note;                     // a grant fails if the note was changed in between
  const std::vector<OwnerId>& renewed;  // as TableStore::Step::renews
  std::int64_t epoch = 0;               // of the grants
};
// `which`: the row's index, for ZkChange::made. The change compares the version of every node that
// it touches. Nodes may have been created since the row was read. They stand behind every waiter in
// the row, so a waiter may become a holder all the same. A new node that is created as a holder may
// stand behind them: the caller must look for earlier nodes afterwards (is_behind_others).
void add_zk_change(const ZkRow& before,
                   std::size_t which,
                   const lease_table::StoredLock& after,
                   const ZkStep& step,
                   ZkChange& change);

// The upper half of a zxid is the number of the leader, so each new leader moves tokens 2^32 us =
// 72 minutes forward. A new epoch subtracts the leaders before it; below 2^53 there is room for
// 500,000 leaders (Epoch::k_numbers).
//
// The change grants only if the epoch, which is the data of the folder of notes, is still as it was
// read; the change raises it to `wanted`.
void add_zk_epoch(const std::string& folder,
                  const contender::Epoch& read,
                  std::int64_t wanted,
                  ZkChange& change);

// Proves by a quorum that the holders in the rows are still there; in rows without holders, that
// the folders are. Without folders the check fails, as it should.
void add_zk_proof(const std::vector<ZkRow>& rows, ZkChange& change);

// Whether one of `children` came before the node `path` and is missing in the row that the grant of
// `path` relied on.
bool is_behind_others(const ZkRow& row,
                      ZkLayout layout,
                      const std::string& path,
                      const std::vector<std::string>& children);

}  // namespace dlock
