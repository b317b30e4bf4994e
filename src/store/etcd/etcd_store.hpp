// SPDX-License-Identifier: MIT
// EtcdStore: locks in an etcd 3.4 or newer: "etcd://h1,h2,h3", over TLS "etcds://…". They use the
// keys of etcdctl's lock and of Go's concurrency package; their locks and dlock's exclude each
// other (etcd_row.hpp).
//
// A step reads the keys of its names (linearizable), and writes its changes in one transaction that
// fails if anything relevant changed in between; then the step is repeated. A lease is renewed by a
// keep-alive and a linearizable transaction after it: a leader that has lost the others confirms
// the keep-alive alone. A token is the revision of its grant plus an epoch (contender::Epoch).
//
// Waiters are woken by watches: the first two in line watch the whole lock, the others the two
// waiters before them.
//
// Promises beside those of TableStore: a grant or a release that was answered outlives the death of
// any minority of the members. Not promised: that a lease ends on time after a change of leader,
// which gives all leases their full time again.
#pragma once

#include "store/etcd/etcd_client.hpp"
#include "store/etcd/etcd_row.hpp"
#include "store/etcd/etcd_watch.hpp"
#include "store/store_options.hpp"
#include "store/table/contender.hpp"
#include "store/table/table_store.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class EtcdStore final : public TableStore {
 public:
  // Parses the URL and adds the password and the TLS settings, which the URL does not carry.
  static Result<EtcdAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<EtcdStore> open(const EtcdAddress& address, const StoreOptions& options);

  std::string where() const override { return where_; }
  // Errc::bad_usage: the name begins like the keys of notes.
  Result<std::string> key_of(const LockName& name) const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;
  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;

 private:
  struct Rows {
    std::vector<EtcdRow> rows;  // of the names, in their order
    EtcdRevision revision = 0;  // at which all rows were read
    Moment moment;
    contender::Epoch epoch;  // read only for a claim
  };

  EtcdStore(const EtcdAddress& address, const StoreOptions& options);

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

  Result<Rows> load(const std::vector<LockName>& names, bool with_epoch, Time limit);
  Result<bool> write(const EtcdChange& change, Time limit);
  std::int64_t epoch_for_grant(const Rows& rows,
                               const std::vector<lease_table::StoredLock>& locks) const;
  Result<void> see_ends(Rows& rows, Time limit);
  std::vector<EtcdRange> ranges_of(const Rows& rows) const;
  bool is_ours(const std::string& id) const;

  std::string where_;
  EtcdClient client_;
  EtcdWatch watch_;
  EtcdRevision written_ = 0;  // revision of the newest transaction that wrote
  FencingToken token_ = 0;    // of the newest grant
  bool may_raise_ = true;     // whether the user may raise the epoch, as far as we know
  contender::Turns turns_;
  std::vector<LockName> watched_;
  std::vector<std::string> ids_;   // ids of the watched claim or holds
  std::vector<EtcdRange> wanted_;  // to be watched, by the newest look
  std::vector<EtcdRange> open_;    // watched now
  EtcdRevision seen_ = 0;          // revision of the newest look
};

}  // namespace dlock
