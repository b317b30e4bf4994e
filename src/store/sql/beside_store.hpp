// SPDX-License-Identifier: MIT
// BesideStore: a store in which the hold of a name consists of two locks (`?with=` in the URL). One
// is a row, which dlock uses for lease, line, token and records. The other is a peer lock: a lock
// of the database server that other programs use, which do not know the row. The peer lock is taken
// after the row and is checked while it is held. If the peer lock is lost, the hold is lost.
//
// Promises in addition to those of LockStore: a granted claim has both locks, a refused claim has
// neither. If the peer lock cannot be taken, the row is released; if that fails, too, the error
// says so (Errc::unavailable), and it is unknown whether the row is still held. renew() and check()
// notice the loss of the peer lock, and await_hand_off() notices it within about a second.
//
// It does not promise a lease of the peer lock: the server releases the peer lock as soon as the
// connection ends. A nested hold has no peer lock of its own if its ancestor holds the name with
// the same URL.
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
  Result<Holding> freeze(const LockName& name, const FreezeOrder& order, Time limit) override {
    return rows_->freeze(name, order, limit);
  }
  Result<std::optional<Freeze>> unfreeze(const LockName& name, Time limit) override {
    return rows_->unfreeze(name, limit);
  }

 private:
  bool needs_peer(const Claim& claim, const Hold& hold) const;
  Result<AcquireReply> take_peer(const Claim& claim, Grant grant, Time limit);
  Result<void> ask_peer(Time limit);
  std::optional<Result<RenewReply>> trouble_of_peer(Time limit);

  std::unique_ptr<LockStore> rows_;
  std::unique_ptr<PeerLock> peer_;
  // Serial of the claim that has the peer lock; nullopt: none has.
  std::optional<HoldSerial> taken_for_;
  std::optional<Error> gone_;  // why the peer lock was lost
  bool blocked_ = false;       // at the last try another program had the peer lock
};

}  // namespace dlock
