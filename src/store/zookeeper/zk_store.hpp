// SPDX-License-Identifier: MIT
// ZkStore: locks in a ZooKeeper 3.5 or newer: "zookeeper://h1,h2,h3/folder", with TLS
// "zookeepers://…". It uses the nodes of Curator's recipes and go-zookeeper's Lock or, with
// ?layout=kazoo, those of kazoo; locks of those programs and of dlock exclude each other
// (zk_row.hpp).
//
// Each call reads the nodes of its names and changes them in one multi (ZooKeeper's transaction),
// which compares the version of each node that it touches. If a version has changed since the read,
// the call reads and writes again. If there is nothing to change, a multi of comparisons makes a
// majority of the servers confirm the holders. A new holder checks once more for earlier nodes. A
// lease is a session (zk_owners.hpp), which is renewed by attaching to it again; the renewal counts
// once a multi that follows it on the same connection is confirmed. A fencing token is the number
// of the write that granted (its zxid) plus the epoch, a number in the store (zk_row.hpp).
//
// A separate session without nodes reads and watches: the first waiters watch the nodes before
// them, a holder its own node. Waiters farther back keep no connection (maxClientCnxns).
//
// Besides the promises of TableStore: a grant or a release that was answered outlives the loss of
// any minority of the servers. Not promised: that a lease ends on time after a change of leader,
// because the new leader gives all sessions their full time again.
#pragma once

#include "store/store_options.hpp"
#include "store/table/contender.hpp"
#include "store/table/table_store.hpp"
#include "store/zookeeper/zk_row.hpp"
#include "store/zookeeper/zk_table.hpp"
#include "store/zookeeper/zk_url.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

class ZkStore final : public TableStore {
 public:
  // Parses the URL, and adds the password and TLS settings that are not in it.
  static Result<ZkAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<ZkStore> open(const ZkAddress& address, const StoreOptions& options);

  StoreTraits traits() const override;
  std::string where() const override { return table_.address().text; }
  // Returns the name itself. Errc::bad_usage: ZooKeeper or dlock uses the folder with this name for
  // something else.
  Result<std::string> key_of(const LockName& name) const override;
  // Returns the names that match, in order. Sends one request for each name that matches.
  // Errc::bad_usage: more than 10,000 names match.
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  // Takes the claim out of the lines, even if it does not wait: a grant that was undone may have
  // left its node behind as a waiter.
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override;
  // Revokes a lock. Holders of other programs are asked to release, as Curator's Revoker does; the
  // verdict is not_dlock all the same.
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;

 private:
  ZkStore(ZkAddress address, const Interrupt* interrupt)
      : interrupt_(interrupt), table_(std::move(address), interrupt) {}

  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) override;
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) override;
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  FencingToken number_of_write() const override { return token_; }
  std::optional<Duration> looks_every(Watcher who, std::uint64_t place) const override;

  Result<ZkTable::Rows> seen(Result<ZkTable::Rows> rows, const std::vector<LockName>& names);
  std::optional<ZkTable::Rows> recalled(const std::vector<LockName>& names,
                                        const Occasion& occasion);
  static Moment moment_of(const ZkTable::Rows& rows);
  ZkTable::Extent extent_for(const Occasion& occasion) const;
  ZkTable::Extent extent_of(const std::vector<LockName>& names) const;
  void note_look(const ZkTable::Rows& rows);
  std::vector<std::size_t> watched_of(const ZkRow& row) const;
  Result<void> arm(Time limit);
  Result<void> pause(Time until) const;
  bool is_ours(const std::string& id) const;

  const Interrupt* interrupt_;
  ZkTable table_;
  FencingToken token_ = 0;  // token of a grant by the newest write
  contender::Turns turns_;

  std::vector<LockName> watched_;
  std::vector<std::string> ids_;          // ids of the watched claim or holds
  std::string seen_;                      // paths and versions of the watched nodes, as read last
  std::optional<std::string> armed_for_;  // the value of seen_ when all watches were set
  Time armed_at_{};
  Time armed_on_{};          // when the connection with the watches was made
  std::uint64_t place_ = 0;  // our best place in any line, as read last
  bool far_ = false;         // the waiter is too far back in line to keep a connection
  Duration next_look_{};     // for such a waiter: pause before the next read
  int holding_ = 0;          // number of holders, when all nodes were read last
};

}  // namespace dlock
