// SPDX-License-Identifier: MIT
// BesideStore: a store whose holds have another program's lock beside their row (`?with=`). The row
// is for dlocks: lease, line, tokens, records. The peer lock keeps out programs that know nothing
// of rows; it is taken after the row, watched while it is held, and its loss is the loss of the
// hold.
//
// Promises beside those of LockStore: a grant has both locks, a refusal or an error has none (if
// the row could not be released, the error says nothing: see LockStore). A loss of the peer lock is
// noticed by each renewal and each check, and within about a second by await_hand_off.
//
// Not promised: a safe_until of the peer lock; its server releases it at once when the connection
// is gone. A nested hold below a hold of this very URL has no peer lock of its own.
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
  std::optional<HoldSerial> taken_for_;  // the hold for which the peer lock is, or was, ours
  std::optional<Error> gone_;            // why the peer lock is no longer ours
  bool blocked_ = false;                 // by another program, at the last try of a claim
};

}  // namespace dlock
