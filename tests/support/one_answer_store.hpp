// SPDX-License-Identifier: MIT
// OneAnswerStore: a store that returns the same error from every call. Tests override single calls.
#pragma once

#include "core/lock_store.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock::test {

class OneAnswerStore : public LockStore {
 public:
  StoreTraits traits() const override { return {}; }
  std::string where() const override { return "nowhere:"; }
  Result<std::string> key_of(const LockName& name) const override { return name.text(); }

  Result<AcquireReply> acquire(const Claim&, Queueing, Time limit) override {
    return answer(limit);
  }
  Result<ReleaseVerdict> release(const Holds&, const ReleaseOptions&, Time limit) override {
    return answer(limit);
  }
  Result<RenewReply> renew(const Holds&, Time limit) override { return answer(limit); }
  Result<RenewReply> check(const Holds&, Time limit) override { return answer(limit); }
  Result<Watching> watch(const Claim&, bool, Time limit) override { return answer(limit); }
  Result<Watching> watch_hold(const Holds&, Time limit) override { return answer(limit); }
  Result<HandOff> await_hand_off(Time until) override { return answer(until); }
  Result<Holding> inspect(const LockName&, Time limit) override { return answer(limit); }
  Result<std::vector<std::string>> list(std::string_view, Time limit) override {
    return answer(limit);
  }
  Result<RevokeReply> revoke(const LockName&, const RevokeOrder&, Time limit) override {
    return answer(limit);
  }
  Result<std::optional<LastSuccess>> forget(const LockName&, Time limit) override {
    return answer(limit);
  }
  Result<Holding> freeze(const LockName&, const FreezeOrder&, Time limit) override {
    return answer(limit);
  }
  Result<std::optional<Freeze>> unfreeze(const LockName&, Time limit) override {
    return answer(limit);
  }

 private:
  virtual Error answer(Time limit) = 0;
};

}  // namespace dlock::test
