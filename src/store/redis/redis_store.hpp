// SPDX-License-Identifier: MIT
// RedisStore: keeps locks in one Redis or Valkey server, or in a set or cluster of servers. Locks
// have the layout of Redisson's RLock and RReadWriteLock, with records of dlock beside them
// (dlock-protocol(7)). Each change of a lock is one Lua script in scripts/.
//
// It keeps the promises of LockStore if the server keeps what it has acknowledged. It does not
// protect against a server that forgets, by a restart without its data or by eviction. It protects
// against a failover only if enough `replicas` are asked for.
#pragma once

#include "core/lock_store.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/redis_keys.hpp"
#include "store/redis/redis_place.hpp"
#include "store/store_options.hpp"

#include <memory>

namespace dlock {

class RedisStore final : public LockStore {
 public:
  static std::unique_ptr<RedisStore> open(const RedisPlace& place, const StoreOptions& options);

  // Returns a new client for questions about the server, which is not connected yet.
  RedisClient another_client() const { return client_.another(); }

  StoreTraits traits() const override { return {.replicas = true}; }
  std::string where() const override { return place_; }
  Result<std::string> key_of(const LockName& name) const override;
  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<RenewReply> renew(const Holds& holds, Time limit) override;
  Result<void> raise(const Holds& holds, Time limit) override;
  Result<RenewReply> check(const Holds& holds, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override;
  Result<Watching> watch(const Claim& claim, bool front, Time limit) override;
  Result<Watching> watch_hold(const Holds& holds, Time limit) override;
  Result<HandOff> await_hand_off(Time until) override;
  Result<Holding> inspect(const LockName& name, Time limit) override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;
  Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) override;
  Result<Holding> freeze(const LockName& name, const FreezeOrder& order, Time limit) override;
  Result<std::optional<Freeze>> unfreeze(const LockName& name, Time limit) override;

 private:
  // What is watched: the subscriber must hear of changes of these keys, and of the claim's turns.
  struct Watched {
    std::string claim;       // the waiting claim's id in the line (waiter_id()); empty for a holder
    std::vector<Keys> keys;  // the keys of each watched name
    bool holder() const { return claim.empty(); }
  };

  // `address` is that of the server; with several servers, the address that errors name for all.
  RedisStore(std::shared_ptr<Route> route, const RedisAddress& address, const StoreOptions& options)
      : prefix_(options.prefix),
        place_(address.text),
        route_(std::move(route)),
        wanted_replicas_(options.replicas),
        client_(route_, address, options.interrupt),
        subscriber_(route_, address, options.interrupt) {}

  // `one_of`: only one of the names is wanted, as the text of an error has to know; so below.
  Result<std::vector<Keys>> keys_of(const std::vector<LockName>& names, bool one_of = false) const;
  Result<std::vector<Keys>> keys_of(const Holds& holds) const;
  // Runs a script for the locks whose keys are `all`. `keys` and `args` are the script's.
  Result<Answer> run(const Script& script,
                     const std::vector<Keys>& all,
                     const Words& keys,
                     const Words& args,
                     Time limit);
  // Runs a script as run() does. If a number of replicas must have its writes, also counts the
  // replicas that have them (Answer::copies); confirm() needs that.
  Result<Answer> run_for_replicas(const Script& script,
                                  const std::vector<Keys>& all,
                                  const Words& keys,
                                  const Words& args,
                                  Time limit);
  Result<Answer> explained(Result<Answer> answer,
                           const std::vector<Keys>& all,
                           bool one_of = false) const;
  // Waits until enough replicas have the writes. Errc::unconfirmed: too few replicas have them.
  Result<void> confirm(const Answer& answer, Duration ttl, Time limit);
  // Returns the error for names whose keys are not in one slot of a cluster; nullopt: they are.
  std::optional<Error> slot_trouble(const std::vector<Keys>& all, bool one_of = false) const;
  Result<void> list_of(RedisClient& client,
                       const std::string& pattern,
                       std::vector<std::string>& names,
                       Time limit) const;
  // Runs renew.lua: with `ttl` zero it only checks the leases, otherwise it renews them. `whole` is
  // for a check: the ttl to which a lease is extended if another program has shortened it; zero:
  // the lease is left as it is.
  Result<RenewReply> ask_about(const Holds& holds, Duration ttl, Duration whole, Time limit);
  std::optional<Error> may_have_forgotten(const Claim& claim, const Grant* grant) const;
  void warn_of_failover(Duration ttl);
  bool matters(std::string_view key) const;
  Result<void> listen(const Words& channels, Time limit);
  // As listen(), and turns on key tracking.
  Result<void> listen_and_see(const Words& channels, Time limit);
  HandOff meaning_of(const Reply& message) const;

  std::string prefix_;
  std::string place_;
  std::shared_ptr<Route> route_;
  // Number given with --replicas; nullopt: RedisClient::replicas() decides.
  std::optional<int> wanted_replicas_;
  int replicas_ = 0;  // how many replicas must have a grant or a renewal
  RedisClient client_;
  RedisClient subscriber_;  // connected and subscribed only while something is watched
  Watched watched_;
  bool sees_changes_ = false;  // whether key tracking is on
  bool warned_ = false;        // warn_of_failover() has already warned
};

}  // namespace dlock
