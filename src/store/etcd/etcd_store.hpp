// SPDX-License-Identifier: MIT
// EtcdStore: locks in an etcd 3.4 or newer: "etcd://h1,h2,h3", with TLS "etcds://…". It uses the
// keys of etcdctl's lock and of Go's concurrency package; locks of those programs and of dlock
// exclude each other (etcd_row.hpp).
//
// Each call reads the keys of its names (linearizable) and writes its changes in one transaction.
// That fails if anything relevant has changed since; it then reads the keys, and the call writes
// again. A release after its grant relies on what the grant has left, and a waiter on what it has
// just seen: their transactions have all conditions that they need (etcd_row.hpp). A lease is
// renewed by a keep-alive and a linearizable transaction after it, because a leader that has lost
// its followers still confirms a keep-alive. After an election it is moved (EtcdStep::moves). A
// fencing token is the revision of its grant plus the epoch, a number in the store that makes
// tokens grow even if etcd has lost its data.
//
// Waiters are woken by watches (etcd_watched()). A watch begins with the revision after the read
// that decided to wait, so no event is missed although the watch opens later.
//
// Besides the promises of TableStore: a grant or a release that was answered outlives the loss of
// any minority of the members. Not promised: that a lease ends on time after a change of leader,
// because the new leader gives all leases their full time again.
#pragma once

#include "store/etcd/etcd_client.hpp"
#include "store/etcd/etcd_row.hpp"
#include "store/etcd/etcd_rows.hpp"
#include "store/etcd/etcd_watch.hpp"
#include "store/store_options.hpp"
#include "store/table/contender.hpp"
#include "store/table/table_store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class EtcdStore final : public TableStore {
 public:
  // Parses the URL, and adds the password and TLS settings that are not in it.
  static Result<EtcdAddress> address_of(const StoreOptions& options);
  static std::unique_ptr<EtcdStore> open(const EtcdAddress& address, const StoreOptions& options);

  std::string where() const override { return where_; }
  // Returns the name itself. Errc::bad_usage: the name is "dlock-done" or begins with
  // "dlock-done/", like the keys that remember successes; such a key would look like a holder.
  // A note has a lease of its own, which is a further write of a majority.
  StoreTraits traits() const override { return {.cheap_end = false, .one_clock = false}; }
  Result<std::string> key_of(const LockName& name) const override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;
  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;

 private:
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

  std::optional<EtcdRows> known_rows(const std::vector<LockName>& names, const Occasion& occasion);
  bool has_just_read(const std::vector<LockName>& names) const;
  EtcdReading reading_of(const std::vector<LockName>& names, bool with_epoch) const;
  std::int64_t epoch_of_grant(const EtcdRows& rows, FencingToken token) const;
  EtcdRows take(EtcdRows rows);
  Result<EtcdRows> load(const std::vector<LockName>& names, bool with_epoch, Time limit);
  // What a transaction has done. If it was not carried out, or if the change joins a line, it has
  // made the reading, if there was one; the rows are missing if they must be read again.
  struct Written {
    bool done = false;
    std::int64_t term = 0;  // EtcdAnswer::term
    std::optional<EtcdRows> rows = {};
  };
  Result<Written> write(const EtcdChange& change,
                        const std::optional<EtcdReading>& reading,
                        bool hurries,
                        Time limit);
  Result<void> see_ends(EtcdRows& rows, Time limit);

  std::string where_;
  EtcdClient client_;
  EtcdWatch watch_;
  EtcdRevision written_ = 0;  // revision of the newest transaction that wrote
  FencingToken token_ = 0;    // token of a grant in that transaction
  bool may_raise_ = true;     // false: the user may not write the epoch
  contender::Turns turns_;
  // The locks of the newest grant, as it has left them.
  std::optional<EtcdRows> remembered_;
  // The term of the leader (EtcdAnswer::term) before our leases were made; 0: other processes have
  // made some.
  std::int64_t lease_term_ = 0;
  std::vector<LockName> watched_;
  std::vector<std::string> ids_;  // ids of the watched claim or holds
  bool is_queued_ = false;        // the watched claim has tried to join the line
  EtcdWatched wanted_;            // what to watch, as the newest read showed
  EtcdWatched open_;              // what is watched now
  // Why the server has refused to watch. The caller hears it when it watches again, and polls.
  std::optional<Error> refused_watch_;
  // The watched names as they were read last; empty: they were not read, or the read failed.
  std::vector<std::optional<EtcdLine>> lines_;
  EtcdRevision seen_ = 0;  // the revision of the newest read of the watched names
  // The newest read. It serves the next try of a claim, if that comes at once.
  std::optional<EtcdRows> recent_;
  std::optional<EtcdRows> turn_;  // the same, if events have shown since that our turn has come
  EtcdLease line_lease_ = new_etcd_lease();  // EtcdStep::line_lease of the next claim that joins
};

}  // namespace dlock
