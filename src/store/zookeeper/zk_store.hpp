// SPDX-License-Identifier: MIT
// ZkStore: locks in a ZooKeeper 3.5 or newer: "zookeeper://h1,h2,h3/folder", over TLS
// "zookeepers://…". They have the nodes of Curator's recipes and of go-zookeeper's Lock, or with
// ?layout=kazoo those of kazoo, which wait for them and are waited for (zk_row.hpp).
//
// A step reads the nodes of its names, and changes them in one multi that compares the version of
// each node it touches; if something came in between it is repeated. Where nothing changes, a multi
// of comparisons proves by a quorum that those who hold still do. A new holder looks again at what
// came before it. A lease is a session (zk_owners.hpp): it is renewed by attaching to it anew, and
// counts once a multi behind that was confirmed on the same connection. Tokens are zxids of grants,
// and an epoch (zk_row.hpp).
//
// A session that owns no nodes looks and watches: the first waiters in line watch what is before
// them, a holder its node. Waiters farther behind keep no connection (maxClientCnxns).
//
// Promises beside those of TableStore: a grant or a release that was answered outlives the death of
// any minority of the servers. Not promised: that a lease ends on time after a change of leader,
// which gives all sessions their full time again.
#pragma once

#include "store/contender.hpp"
#include "store/store_options.hpp"
#include "store/table_store.hpp"
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
  static Result<std::unique_ptr<LockStore>> open(const StoreOptions& options);
  // With the password and the settings of TLS that the URL does not carry.
  static Result<ZkAddress> address_of(const StoreOptions& options);

  StoreTraits traits() const override;
  std::string where() const override { return table_.address().text; }
  // Errc::bad_usage: a name whose folder is another's.
  Result<std::string> key_of(const LockName& name) const override;
  // Asks for each name below the folder. Errc::bad_usage: there are more than 10,000.
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<RenewReply> renew(const Holds& holds, Time limit) override;
  Result<RenewReply> check(const Holds& holds, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  // Also of a claim that does not wait: a grant that was undone may have left a place.
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override;
  // Tells foreign holders as Curator's Revoker does; the verdict does not count on it.
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;

 private:
  ZkStore(ZkAddress address, const Interrupt* interrupt)
      : interrupt_(interrupt), table_(std::move(address), interrupt) {}

  Result<void> transact(const std::vector<LockName>& names,
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
  bool drop_part(std::vector<lease_table::StoredLock>& after) const;
  void note_holds(const Holds& holds);
  ZkTable::Extent extent_of(const std::vector<LockName>& names) const;
  void note_look(const ZkTable::Rows& rows);
  std::vector<std::size_t> watched_of(const ZkRow& row) const;
  Result<void> arm(Time limit);
  Result<void> pause(Time until) const;
  bool is_ours(const std::string& id) const;

  const Interrupt* interrupt_;
  ZkTable table_;
  const Claim* claim_ = nullptr;  // of this acquire
  Queueing queueing_ = Queueing::no;
  OwnerId owner_;             // of the newest claim
  bool proves_note_ = false;  // its --once-per depends on the note
  bool concerns_us_ = false;  // the step is of its nodes alone
  FencingToken token_ = 0;    // of its newest grant
  contender::Turns turns_;

  std::vector<LockName> watched_;
  std::vector<std::string> ids_;          // of the watched claim or holds
  std::string seen_;                      // what matters of the newest look at them
  std::optional<std::string> armed_for_;  // seen_ when watches were set for all of that
  Time armed_at_{};
  Time armed_on_{};          // the connection, by when it was made
  std::uint64_t place_ = 0;  // then, in the line where it is nearest to the first
  bool far_ = false;         // so far behind that it keeps no connection
  Duration next_look_{};     // of one that is far
  int holding_ = 0;          // that many nodes hold, as the newest whole look has it
};

}  // namespace dlock
