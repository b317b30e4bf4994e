// SPDX-License-Identifier: MIT
// ZkTable: the rows of locks (zk_row.hpp) in a ZooKeeper: read, and changed in one multi.
//
// It promises: no node of a row was deleted while the row was read. A write that write() reports
// was confirmed by a quorum, and so were its renewals. write() keeps a new holder only if every
// node before it was in the row. An ended session is replaced by a new one; its nodes may stay for
// a moment, but are not part of a row.
//
// Calls, limits, interrupts and errors as of ZkSession. One thread at a time.
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
#include <vector>

namespace dlock {

// A verdict for each request; empty: the session is over.
Result<std::vector<ZkAnswer>> zk_answers_of(ZkSession& session,
                                            const std::vector<ZkRequest>& requests,
                                            Time limit);

class ZkTable {
 public:
  struct Rows {
    std::vector<ZkRow> rows;  // of the names, in their order
    Time sent_at;             // read before the first request was sent
    lease_table::StoreTime now;
    std::int64_t zxid = 0;                  // a write that the server had seen
    std::optional<contender::Epoch> epoch;  // nothing: we may not read it
  };

  // `interrupt` may be null and must outlive us.
  ZkTable(ZkAddress address, const Interrupt* interrupt);
  ~ZkTable();
  ZkTable(const ZkTable&) = delete;
  ZkTable& operator=(const ZkTable&) = delete;

  const ZkAddress& address() const { return address_; }
  // Whether the folder of this name has another use.
  bool is_taken(const LockName& name) const;

  // The calls that follow are for this claim: its session owns new nodes, and load() renews it.
  void begin(const Claim& claim);
  // The newest claim's owner.
  const OwnerId& owner() const { return owner_; }
  // Ends the claim's session if it has no nodes.
  void end_idle(Time limit);

  // Which nodes are read. Nodes that are not read are listed as waiters of which nothing is known:
  // a claim needs to know no more about those behind it.
  struct Extent {
    bool only_before_us;  // no node behind the claim's own
    std::ptrdiff_t most;  // if more than this are before it, no node is read
  };
  static constexpr Extent k_everything{false, 0};
  static constexpr Extent k_what_is_before_us{true, PTRDIFF_MAX};

  Result<Rows> load(const std::vector<LockName>& names, const Extent& extent, Time limit);
  // When the claim's session has to be attached to again, so that it does not end while the claim
  // waits; Time::max(): the claim has no session. keep() attaches.
  Time keep_at() const;
  Result<void> keep(Time limit);
  // Loads rows by the looker, the session that only looks and that owns the watches.
  Result<Rows> look(const std::vector<LockName>& names, const Extent& extent, Time limit);
  ZkSession& looker() { return looker_; }
  // Ends the looker, which would stay for half a minute; the next look makes another.
  void quit_looker();
  // Asks by the looker, and by a new one if it has ended. All answers are verdicts.
  Result<std::vector<ZkAnswer>> ask(const std::vector<ZkRequest>& requests, Time limit);

  // The epoch for a grant by these rows.
  std::int64_t epoch_for_grant(const Rows& rows, std::int64_t wall_us, FencingToken known) const;
  std::string note_folder() const;  // the epoch is this folder's data
  // From now on uses the epoch as it is: another user's folder cannot be written.
  void stop_raising() { may_raise_ = false; }

  // False: another change came in between, and nothing was written that stays.
  Result<bool> write(const Rows& rows, const ZkChange& change, Time limit);
  // The zxid of the newest successful write().
  std::int64_t written() const { return written_; }

  // Disconnects all sessions but the looker; the sessions go on.
  void disconnect() { owners_.disconnect(); }

  Error changes_too_fast() const;

 private:
  using Requests = std::vector<ZkRequest>;

  ZkSession& reader();
  Result<Rows> load_by(ZkSession& session,
                       const std::vector<LockName>& names,
                       const Extent& extent,
                       Time limit);
  Result<std::optional<Rows>> try_load(ZkSession& session,
                                       const std::vector<LockName>& names,
                                       const Extent& extent,
                                       Time limit);
  void note_others(ZkRow& row, const std::string& path, const ZkAnswer& answer) const;
  void list_nodes(ZkRow& row, const std::vector<std::string>& children, const Extent& extent) const;
  void take_node(ZkContender& node);
  void end(const ZkSession& session);
  std::string folder_of(std::string_view lock) const;

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
  OwnerId owner_;  // the claim's owner
  Duration ttl_{};
  std::int64_t written_ = 0;
  std::map<std::string, std::string> values_;  // the data of nodes of our sessions, by path
  bool may_raise_ = true;                      // whether we may raise the epoch, as far as we know
  bool makes_parents_ = false;                 // the folders above the locks have to be created
};

}  // namespace dlock
