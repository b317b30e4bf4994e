// SPDX-License-Identifier: MIT
// DecliningStore: wraps a store and declines some of its traits. Calls that need a declined trait
// are refused with Errc::bad_usage and do not reach the wrapped store; without fencing tokens all
// tokens are 0.
#pragma once

#include "core/lock_store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock::test {

class DecliningStore final : public LockStore {
 public:
  DecliningStore(std::unique_ptr<LockStore> store, StoreTraits traits)
      : store_(std::move(store)), traits_(traits) {}

  StoreTraits traits() const override { return traits_; }
  std::string where() const override { return "declining:"; }
  Result<std::string> key_of(const LockName& name) const override { return store_->key_of(name); }

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override {
    if (!serves(claim)) return declined();
    auto reply = store_->acquire(claim, traits_.line ? queueing : Queueing::no, limit);
    auto* const grant = reply ? std::get_if<Grant>(&*reply) : nullptr;
    if (grant != nullptr && !traits_.tokens) {
      for (Hold& hold : grant->holds)
        hold.token = 0;
    }
    return reply;
  }
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override {
    const bool keeps = options.keep > Duration::zero();
    const bool tells = options.tell_for > Duration::zero();
    if ((keeps && !traits_.keep) || (tells && !traits_.once_per)) return declined();
    return store_->release(holds, options, limit);
  }
  Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) override {
    if (!traits_.once_per) return declined();
    return store_->forget(name, limit);
  }
  Result<Holding> freeze(const LockName& name, const FreezeOrder& order, Time limit) override {
    if (!traits_.keep) return declined();
    return store_->freeze(name, order, limit);
  }
  Result<std::optional<Freeze>> unfreeze(const LockName& name, Time limit) override {
    if (!traits_.keep) return declined();
    return store_->unfreeze(name, limit);
  }
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override {
    if (order.if_token && !traits_.tokens) return declined();
    return store_->revoke(name, order, limit);
  }
  Result<void> leave(const Claim& claim, Queueing queueing, Time limit) override {
    return store_->leave(claim, traits_.line ? queueing : Queueing::no, limit);
  }
  Result<RenewReply> renew(const Holds& holds, Time limit) override {
    return store_->renew(holds, limit);
  }
  Result<RenewReply> check(const Holds& holds, Time limit) override {
    return store_->check(holds, limit);
  }
  Result<Watching> watch(const Claim& claim, bool front, Time limit) override {
    return store_->watch(claim, front, limit);
  }
  Result<Watching> watch_hold(const Holds& holds, Time limit) override {
    return store_->watch_hold(holds, limit);
  }
  Result<HandOff> await_hand_off(Time until) override { return store_->await_hand_off(until); }
  Result<Holding> inspect(const LockName& name, Time limit) override {
    return store_->inspect(name, limit);
  }
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override {
    return store_->list(glob, limit);
  }

 private:
  bool serves(const Claim& claim) const {
    if (claim.mode == Mode::exclusive && !traits_.exclusive) return false;
    if (claim.mode == Mode::shared && !traits_.shared) return false;
    if (claim.mode == Mode::slots && !traits_.slots) return false;
    if (claim.one_from && !traits_.one_of) return false;
    if (claim.names.size() > 1 && !claim.one_from && !traits_.several_names) return false;
    if (!claim.ancestors.empty() && !traits_.nesting) return false;
    if (claim.who.supersede != Supersede::nothing && !traits_.supersede) return false;
    return claim.once_per == Duration::zero() || traits_.once_per;
  }
  static Error declined() { return {Errc::bad_usage, "declined"}; }

  std::unique_ptr<LockStore> store_;
  StoreTraits traits_;
};

// Supports plain locks of one name, and nothing else.
inline constexpr StoreTraits k_plain_locks_only{.exclusive = false,
                                                .shared = false,
                                                .slots = false,
                                                .several_names = false,
                                                .one_of = false,
                                                .nesting = false,
                                                .keep = false,
                                                .once_per = false,
                                                .tokens = false,
                                                .line = false,
                                                .supersede = false};

}  // namespace dlock::test
