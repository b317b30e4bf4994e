// SPDX-License-Identifier: MIT
// BesideStore: a store whose hold of a name consists of a row and of a peer lock (`?with=`), which
// is a lock that programs without dlock use. The row is for dlock: lease, line, tokens, records.
// The peer lock keeps out the programs that do not know the row. It is taken after the row and
// checked while it is held; if it is lost, the hold is lost.
//
// Promises in addition to those of LockStore: a grant has both locks, a refusal has neither. If the
// peer lock cannot be taken, the row is released; if that fails, the error says so
// (Errc::unavailable) and the outcome is unknown. Every renew() and check() notices the loss of the
// peer lock, and await_hand_off() notices it within about a second.
//
// Not promised: a lease of the peer lock. Its server releases it as soon as the connection ends. A
// nested hold whose ancestor's hold is of the same URL has no peer lock of its own.
#pragma once

#include "core/lock_store.hpp"
#include "store/sql/peer_lock.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

class BesideStore final : public LockStore {
 public:
  BesideStore(std::unique_ptr<LockStore> rows, std::unique_ptr<PeerLock> peer)
      : rows_(std::move(rows)), peer_(std::move(peer)) {}

  StoreTraits traits() const override;
  std::string where() const override { return rows_->where(); }
  Result<std::string> key_of(const LockName& name) const override;

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<RenewReply> renew(const Holds& holds, Time limit) override;
  Result<RenewReply> check(const Holds& holds, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  Result<HandOff> await_hand_off(Time until) override;

  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override {
    return rows_->leave(claim, queueing, limit);
  }
  Result<Watching> watch(const Claim& claim, bool front, Time limit) override {
    return rows_->watch(claim, front, limit);
  }
  Result<Watching> watch_hold(const Holds& holds, Time limit) override {
    return rows_->watch_hold(holds, limit);
  }
  Result<Holding> inspect(const LockName& name, Time limit) override {
    return rows_->inspect(name, limit);
  }
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override {
    return rows_->list(glob, limit);
  }
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override {
    return rows_->revoke(name, order, limit);
  }
  Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) override {
    return rows_->forget(name, limit);
  }

 private:
  bool needs_peer(const Claim& claim, const Hold& hold) const;
  Result<AcquireReply> take_peer(const Claim& claim, Grant grant, Time limit);
  Result<void> ask_peer(Time limit);
  std::optional<Result<RenewReply>> trouble_of_peer(Time limit);

  std::unique_ptr<LockStore> rows_;
  std::unique_ptr<PeerLock> peer_;
  std::optional<HoldSerial> taken_for_;  // the claim for which the peer lock was taken
  std::optional<Error> gone_;            // why the peer lock was lost
  bool blocked_ = false;                 // another program had the peer lock at the last try
};

}  // namespace dlock
