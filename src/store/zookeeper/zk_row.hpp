// SPDX-License-Identifier: MIT
// A lock as ZooKeeper keeps it, and the requests that change it. Pure.
//
// The lock is a folder with a node for each holder and each waiter. A node ends with its session,
// and its number is the order of arrival. Its name is that of Curator or of kazoo (ZkLayout):
//   curator: …lock-N exclusive (InterProcessMutex, also go-zookeeper's Lock); …__WRIT__N and
//            …__READ__N (InterProcessReadWriteLock); …__SLOT__N slots, which only dlock knows
//   kazoo:   …__lock__N exclusive or a writer; …__rlock__N a reader; …__slot__N
// The data of our nodes is JSON (contender.hpp). A node with other data belongs to a foreign
// program. A node with another name does not belong to the lock.
//
// As in the recipes, the position decides who holds the lock: a node whose data says "holder" holds
// the lock if no waiter is before it and all holders before it leave room for it. So two nodes that
// exclude each other never both hold the lock, in whatever order they were written. A node that
// says "holder" too early counts as a waiter. A node that holds continues to hold: new nodes come
// after it, and a holder before it can only change to a weaker mode (a writer to a reader).
//
// A lock has a note, which outlives these nodes: its last success and the released holds of
// `acquire`. It is a node in a folder beside the locks. The data of that folder is the epoch: a
// number that, added to the number of a write (its zxid), makes a fencing token, so that tokens
// grow even if ZooKeeper has lost its data (contender::Epoch).
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

// Curator's Revoker writes this into the node of a holder that should release the lock.
constexpr std::string_view k_zk_revoke = "__REVOKE__";

// The server can number nodes up to 2147483647. A claim whose own node gets this number or a larger
// one removes the folder if it is empty, so that numbers begin anew; otherwise the claim is
// refused. Claims whose nodes exist already are not affected.
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
  bool unread = false;   // only its name is known: it counts as a waiter
  bool revoked = false;  // by Curator's Revoker; `data` is then the data that it overwrote
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
  std::string others = {};  // with acl=private: other users who could change the lock or its note
  lease_table::StoredLock state = {};           // of the lock, as it was read
  std::vector<ZkContender> nodes = {};          // in the order of arrival, that is by number
  std::map<OwnerId, std::size_t> holders = {};  // indices into `nodes`, by owner
  std::map<std::string, std::size_t> waiters = {};
  // Nodes that count as waiters although their data says "holder".
  std::set<std::size_t> early = {};
  std::vector<std::size_t> foreign = {};  // indices of holders of other programs
  std::optional<ZkNote> note = {};
};
// Fills in the row from its `nodes`, which may be in any order, and its `note`.
void read_zk_row(ZkRow& row, lease_table::StoreTime now);

// Returns whether the first waiter may be removed when its turn is over. When a waiter becomes a
// holder, the version of its node changes; so it is safe to remove a waiter on the condition that
// the version is unchanged. But a node of another program, and one that says "holder" too early,
// become holders without a new version, so they must not be removed.
bool may_be_passed_over(const ZkRow& row);

// A change of locks: the parts of one multi, ZooKeeper's transaction.
struct ZkChange {
  struct Made {
    std::size_t part = 0;
    std::size_t row = 0;
    bool holds = false;
  };
  std::vector<ZkRequest> parts;
  std::vector<Made> made;            // nodes to create; the claim's session owns them
  std::vector<std::string> removed;  // paths of the nodes to remove
  // The sessions that the change must renew, by number, with the timeout with which each was made;
  // zero: the session of a waiter, which is our own.
  std::map<std::int64_t, Duration> renewed;
  bool makes_note = false;  // the change creates a note, or the folder of notes
  bool grants = false;      // the change grants a lock, with ZkStep::epoch
  // Set if a lease should become longer than the timeout of its session, which is impossible: that
  // timeout.
  std::optional<Duration> longest;
};

struct ZkStep {
  const lease_table::Moment& moment;
  ZkLayout layout;
  bool writes;                          // false: only waiters are changed
  bool proves_note;                     // a grant must fail if the note has changed since the read
  const std::vector<OwnerId>& renewed;  // owners whose leases are to be renewed
  std::int64_t epoch = 0;               // a grant's token is this plus the number of its write
};
// Adds the change of one lock. `which`: the row's index, for ZkChange::made. The change compares
// the version of every node that it touches. It does not notice nodes that were created since the
// row was read. Such nodes come after every waiter in the row, so a waiter in the row may still
// become a holder. But if the change creates a holder's node, such nodes may come before it: the
// caller must check that afterwards (is_behind_others).
void add_zk_change(const ZkRow& before,
                   std::size_t which,
                   const lease_table::StoredLock& after,
                   const ZkStep& step,
                   ZkChange& change);

// Adds the condition that the epoch (the data of the folder of notes, which makes tokens grow) is
// still as it was read and, if `wanted` is another number, a write that raises the epoch to it.
//
// The upper half of a zxid counts the leaders, so each new leader moves tokens forward by 2^32 µs
// (72 minutes). A new epoch compensates for the leaders so far; below 2^53 there is room for
// 500,000 leaders (Epoch::k_numbers).
void add_zk_epoch(const std::string& folder,
                  const contender::Epoch& read,
                  std::int64_t wanted,
                  ZkChange& change);

// Adds checks with which a majority of the servers confirms that the holders in the rows still
// exist or, for a row without holders, that its folder exists. If no lock has a folder, the multi
// fails with no_node, which confirms just that.
void add_zk_proof(const std::vector<ZkRow>& rows, ZkChange& change);

// Returns whether one of `children` comes before the node `path` but was not in the row on which
// the grant of `path` was based.
bool is_behind_others(const ZkRow& row,
                      ZkLayout layout,
                      const std::string& path,
                      const std::vector<std::string>& children);

}  // namespace dlock
