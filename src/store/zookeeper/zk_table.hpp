// SPDX-License-Identifier: MIT
// ZkTable: reads locks from a ZooKeeper, each as a row (zk_row.hpp), and changes them in one multi,
// ZooKeeper's transaction.
//
// It promises: no node of a row was deleted while the row was read. If write() returns true, a
// majority of the servers has confirmed the write and its renewals. write() keeps a new holder's
// node only if every node before it was in the row. A session that has ended is replaced by a new
// one. The nodes of the old one may exist for another moment, but are not part of a row.
//
// Limits, interrupts and errors are those of ZkSession. Used by one thread at a time.
#pragma once

#include "core/lock_store.hpp"
#include "store/zookeeper/zk_owners.hpp"
#include "store/zookeeper/zk_row.hpp"
#include "store/zookeeper/zk_session.hpp"
#include "store/zookeeper/zk_url.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

// Returns a verdict for each request; empty: the session is over.
Result<std::vector<ZkAnswer>> zk_answers_of(ZkSession& session,
                                            const std::vector<ZkRequest>& requests,
                                            Time limit);

class ZkTable {
 public:
  struct Rows {
    std::vector<ZkRow> rows;  // rows of the names, in the order of the names
    Time sent_at;             // a time before the first request was sent
    lease_table::StoreTime now;
    std::int64_t zxid = 0;                  // the newest write that the server had seen
    std::optional<contender::Epoch> epoch;  // nullopt: we may not read the epoch
  };

  // `interrupt` may be null and must outlive us.
  ZkTable(ZkAddress address, const Interrupt* interrupt);
  ~ZkTable();
  ZkTable(const ZkTable&) = delete;
  ZkTable& operator=(const ZkTable&) = delete;

  const ZkAddress& address() const { return address_; }
  // Returns whether ZooKeeper or dlock uses the folder with this name for something else.
  bool is_taken(const LockName& name) const;

  // Begins a claim. From now on, calls are for this claim: its session owns new nodes, and load()
  // reads with it. First settles an earlier request of the same claim.
  Result<void> begin(const Claim& claim, Time limit);
  // If a request for a claim of one of several names got no answer, it may still make a node, and
  // the next request may not see that node. So this call ends the owner's session: then the node is
  // gone or will not be made.
  Result<void> settle(const OwnerId& owner, Time limit);
  // Returns the owner of the newest claim.
  const OwnerId& owner() const { return owner_; }
  // Ends the claim's session if it has no nodes.
  void end_idle(Time limit);

  // Says which nodes are read. A node that is not read is listed as a waiter of which only the name
  // is known. A claim needs to know no more about the nodes behind its own.
  struct Extent {
    bool only_before_us;  // reads no node behind the claim's own node
    std::ptrdiff_t most;  // if more nodes than this are before the claim's own, reads no node
  };
  static constexpr Extent k_everything{false, 0};
  static constexpr Extent k_what_is_before_us{true, PTRDIFF_MAX};

  // Reads the rows for a change of the locks. Adds to `changes` how often the locks changed while
  // they were read.
  Result<Rows> load(const std::vector<LockName>& names,
                    const Extent& extent,
                    Time limit,
                    int& changes);
  // Returns the locks of the newest write, if it granted them: each with our node only, as it was
  // written. Forgets them.
  std::optional<Rows> recall() { return std::exchange(granted_, std::nullopt); }
  // Returns the time at which keep() must attach to the claim's session again, so that the session
  // does not end while the claim waits; Time::max(): the claim has no session.
  Time keep_at() const;
  Result<void> keep(Time limit);
  // Reads rows with the looker: the session that only reads, and has the watches.
  Result<Rows> look(const std::vector<LockName>& names, const Extent& extent, Time limit);
  ZkSession& looker() { return looker_; }
  // Ends the session of the looker, the session that only reads. It would otherwise stay for half a
  // minute. The next look() makes a new one.
  void quit_looker();
  // Sends requests with the looker, or with a new one if its session has ended. All answers are
  // verdicts.
  Result<std::vector<ZkAnswer>> ask(const std::vector<ZkRequest>& requests, Time limit);

  // Returns the epoch (zk_row.hpp) for a grant that is based on these rows.
  std::int64_t epoch_for_grant(const Rows& rows, std::int64_t wall_us, FencingToken known) const;
  std::string note_folder() const;  // the data of this folder is the epoch
  // Stops raising the epoch, because the folder of notes belongs to another user.
  void stop_raising() { may_raise_ = false; }

  // Carries out a change. Returns false if the locks have changed since the read, or a session has
  // ended; then no new node of ours remains.
  Result<bool> write(const Rows& rows, const ZkChange& change, Time limit);
  // Returns the zxid, ZooKeeper's number, of the newest successful write().
  std::int64_t written() const { return written_; }

  // Closes the connections of all sessions except the looker; the sessions continue.
  void disconnect() { owners_.disconnect(); }

 private:
  using Requests = std::vector<ZkRequest>;

  ZkSession& reader();
  Result<Rows> load_by(ZkSession& session,
                       const std::vector<LockName>& names,
                       const Extent& extent,
                       Time limit,
                       int& changes);
  Result<std::optional<Rows>> try_load(ZkSession& session,
                                       const std::vector<LockName>& names,
                                       const Extent& extent,
                                       Time limit);
  void note_others(ZkRow& row, const std::string& path, const ZkAnswer& answer) const;
  void list_nodes(ZkRow& row, const std::vector<std::string>& children, const Extent& extent) const;
  void take_node(ZkContender& node);
  void end(const ZkSession& session);
  Error ends_sessions() const;
  std::string folder_of(std::string_view lock) const;

  Result<bool> send(const Rows& rows, const ZkChange& change, Time limit);
  void note_grant(const Rows& rows, const ZkChange& change, const ZkAnswer& multi);
  Result<bool> know_session(Time limit);
  ZkSession& writer(const ZkChange& change);
  ZkSession& session_of(std::int64_t number, Duration made_for);
  Requests folders_for(const Rows& rows, const ZkChange& change) const;
  bool is_early(const Rows& rows,
                const ZkChange& change,
                const ZkAnswer& multi,
                const std::vector<ZkAnswer>& children) const;
  bool is_open(const ZkAnswer& acl) const;
  const ZkRow* used_up(const Rows& rows, const ZkChange& change, const ZkAnswer& multi) const;
  Result<bool> begin_anew(ZkSession& session,
                          const ZkChange& change,
                          const ZkAnswer& multi,
                          const ZkRow& row,
                          Time limit);
  Result<bool> undo(ZkSession& session, const ZkChange& change, const ZkAnswer& multi, Time limit);
  Result<bool> renew_others(const Rows& rows,
                            const ZkChange& change,
                            std::int64_t done,
                            Time limit);

  ZkAddress address_;
  const Interrupt* interrupt_;
  ZkOwners owners_;
  ZkSession looker_;
  OwnerId owner_;  // owner of the newest claim
  Duration ttl_{};
  bool wants_one_ = false;  // the newest claim is for one of several names
  std::int64_t written_ = 0;
  std::map<std::string, std::string> values_;  // data of the nodes of our sessions, by path
  std::optional<Rows> granted_;                // the locks of the newest write, if it granted them
  bool may_raise_ = true;                      // false: we may not write the epoch
  bool makes_parents_ = false;                 // the folders above the locks must be created
};

}  // namespace dlock
