// SPDX-License-Identifier: MIT
// ZkTable: the rows of locks (zk_row.hpp) as a ZooKeeper has them: read, and changed in one multi.
//
// It promises: rows are read while nothing of them goes; what write() says was written was
// confirmed by a quorum, as were the renewals with it; a new holder that write() leaves stands
// behind nothing that its row does not have. A session that has ended is followed by a new one, and
// its nodes, which may be there for a moment, are no part of a row.
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

// Verdicts, one for each request; none: the session is over.
Result<std::vector<ZkAnswer>> zk_answers_of(ZkSession& session,
                                            const std::vector<ZkRequest>& requests,
                                            Time limit);

class ZkTable {
 public:
  struct Rows {
    std::vector<ZkRow> rows;  // of the names, in their order
    Time sent_at;             // read before the first question was sent
    lease_table::StoreTime now;
    std::int64_t zxid = 0;                  // of a write that the server had seen
    std::optional<contender::Epoch> epoch;  // nothing: we may not read it
  };

  // `interrupt` may be null and must outlive us.
  ZkTable(ZkAddress address, const Interrupt* interrupt);
  ~ZkTable();
  ZkTable(const ZkTable&) = delete;
  ZkTable& operator=(const ZkTable&) = delete;

  const ZkAddress& address() const { return address_; }
  // The folder of this name has another use.
  bool is_taken(const LockName& name) const;

  // What follows is of this claim: new nodes are of its session, which load() renews.
  void begin(const Claim& claim);
  // Ends its session, if that has no nodes.
  void end_idle(Time limit);

  // Which nodes are read. The others are listed as waiters of which nothing is known, which is as
  // much as a claim needs to know of those behind it.
  struct Extent {
    bool only_before_us;  // none behind the node of the claim's session
    std::ptrdiff_t most;  // none at all if more than that are before it
  };
  static constexpr Extent k_everything{false, 0};
  static constexpr Extent k_what_is_before_us{true, PTRDIFF_MAX};

  Result<Rows> load(const std::vector<LockName>& names, const Extent& extent, Time limit);
  // When the session of the claim has to be attached to anew, so that it does not end while the
  // claim waits; Time::max(): it has none. keep() does so.
  Time keep_at() const;
  Result<void> keep(Time limit);
  // By the session that only looks, and whose connection the watches are of.
  Result<Rows> look(const std::vector<LockName>& names, const Extent& extent, Time limit);
  ZkSession& looker() { return looker_; }
  // Ends that session, which would stay for half a minute; the next look makes another.
  void quit_looker();
  // By that session, and by a new one if it has ended. All answers are verdicts.
  Result<std::vector<ZkAnswer>> ask(const std::vector<ZkRequest>& requests, Time limit);

  // The epoch for a grant by these rows.
  std::int64_t epoch_for_grant(const Rows& rows, std::int64_t wall_us, FencingToken known) const;
  std::string note_folder() const;  // whose data the epoch is
  // Its old value has to serve: another user made it.
  void stop_raising() { may_raise_ = false; }

  // False: something has come in between, and nothing was written that stays.
  Result<bool> write(const Rows& rows, const ZkChange& change, Time limit);
  // The zxid of the newest write() that did so.
  std::int64_t written() const { return written_; }

  // All but the looker; the sessions go on.
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
  OwnerId owner_;  // of the claim
  Duration ttl_{};
  std::int64_t written_ = 0;
  std::map<std::string, std::string> values_;  // the data of nodes of our sessions, by path
  bool may_raise_ = true;                      // the epoch, as far as we know
  bool makes_parents_ = false;                 // the folders above the locks are not there
};

}  // namespace dlock
