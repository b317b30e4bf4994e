// SPDX-License-Identifier: MIT
// RedisStore: locks in one Redis (or Valkey) server, laid out as Redisson's RLock does, with
// dlock's own records beside it (dlock-protocol(7)). Every change is one Lua script of scripts/.
//
// It keeps the promises of the seam as long as the server keeps what it acknowledged. It does not
// protect against a server that forgets (failover, restart without its data, eviction).
#pragma once

#include "core/lock_store.hpp"
#include "store/open_store.hpp"
#include "store/redis/redis_client.hpp"

#include <memory>

namespace dlock {

class RedisStore final : public LockStore {
 public:
  static Result<std::unique_ptr<LockStore>> open(const StoreOptions& options);

  StoreTraits traits() const override { return {}; }
  std::string where() const override { return client_.where(); }
  Result<std::string> key_of(const LockName& name) const override;
  Result<AcquireReply> acquire(const Claim& claim, Time limit) override;
  Result<RenewReply> renew(const Hold& hold, Time limit) override;
  Result<ReleaseVerdict> release(const Hold& hold, Time limit) override;
  Result<void> watch(const LockName& name, Time limit) override;
  Result<HandOff> await_hand_off(Time until) override;
  Result<Holding> inspect(const LockName& name, Time limit) override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;

 private:
  RedisStore(const RedisAddress& address, std::string prefix, const WakeUp* interrupt)
      : prefix_(std::move(prefix)), client_(address, interrupt), ears_(address, interrupt) {}

  std::string prefix_;
  RedisClient client_;
  RedisClient ears_;  // subscribed; connected only when there is somebody to wait for
};

}  // namespace dlock
