// SPDX-License-Identifier: MIT
// ZkStore: locks in a ZooKeeper 3.5 or newer: "zookeeper://h1,h2,h3/folder", over TLS
// "zookeepers://…". They use the nodes of Curator's recipes and go-zookeeper's Lock, or with
// ?layout=kazoo of kazoo; locks of those programs and of dlock exclude each other (zk_row.hpp).
//
// A step reads the nodes of its names, and changes them in one multi that compares the version of
// each node it touches; if something changed in between, the step is repeated. If nothing changes,
// a multi of comparisons proves by a quorum that the holders still hold. A new holder looks again
// for earlier nodes. A lease is a session (zk_owners.hpp): it is renewed by attaching to it again,
// and the renewal counts once a multi after that was confirmed on the same connection. A token is
// the zxid of its grant plus an epoch (zk_row.hpp).
//
// A session that owns no nodes looks and watches: the first waiters in line watch the nodes before
// them, a holder its node. Waiters farther back keep no connection (maxClientCnxns).
//
// Promises beside those of TableStore: a grant or a release that was answered outlives the death of
// any minority of the servers. Not promised: that a lease ends on time after a change of leader,
// which gives all sessions their full time again.
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
  // Parses the URL and adds the password and the TLS settings, which the URL does not carry.
  static Result<ZkAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<ZkStore> open(const ZkAddress& address, const StoreOptions& options);

  StoreTraits traits() const override;
  std::string where() const override { return table_.address().text; }
  // Errc::bad_usage: the name's folder has another use.
  Result<std::string> key_of(const LockName& name) const override;
  // Sends one request for each name below the folder. Errc::bad_usage: more than 10,000 names.
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  // Also for a claim that does not wait: an undone grant may have left its node as a waiter.
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override;
  // Tells foreign holders as Curator's Revoker does; the verdict does not depend on them.
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
  FencingToken token_ = 0;  // the newest claim's token
  contender::Turns turns_;

  std::vector<LockName> watched_;
  std::vector<std::string> ids_;          // ids of the watched claim or holds
  std::string seen_;                      // what the newest look saw of the watched nodes
  std::optional<std::string> armed_for_;  // seen_ when all watches were set
  Time armed_at_{};
  Time armed_on_{};          // when that connection was made
  std::uint64_t place_ = 0;  // best place in any line, by the newest look
  bool far_ = false;         // too far back in line to keep a connection
  Duration next_look_{};     // for a far waiter
  int holding_ = 0;          // number of holders by the newest complete look
};

}  // namespace dlock
