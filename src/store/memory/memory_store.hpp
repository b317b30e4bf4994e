// SPDX-License-Identifier: MIT
// MemoryStore: locks in this process, for tests and for trying things out. Every store made over
// one MemoryServer is another client of it, usable from another thread.
//
// It keeps the whole contract of the seam; a lease ends with the process at the latest. Only waits
// in await_hand_off are interrupted; the other calls never sleep, beyond a mutex held for
// microseconds, and so do not look at their limit.
// It keeps no line: readers that come all the time may keep a writer out.
#pragma once

#include "core/lock_store.hpp"
#include "store/lease_table.hpp"
#include "sys/wake_up.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

// What all its clients share.
struct MemoryServer {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t changes = 0;  // how often anything but the length of a lease has changed
  std::map<std::string, lease_table::StoredLock> locks;
};

class MemoryStore final : public LockStore {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryServer> server, const WakeUp* interrupt = nullptr)
      : server_(std::move(server)), interrupt_(interrupt) {}

  StoreTraits traits() const override { return {.line = false}; }
  std::string where() const override { return "memory:"; }
  Result<std::string> key_of(const LockName& name) const override { return name.text(); }

  Result<AcquireReply> acquire(const Claim& claim, Queueing queueing, Time limit) override;
  Result<RenewReply> renew(const Holds& holds, Time limit) override;
  Result<RenewReply> check(const Holds& holds, Time limit) override;
  Result<ReleaseVerdict> release(const Holds& holds,
                                 const ReleaseOptions& options,
                                 Time limit) override;
  Result<Watching> watch(const Claim& claim, bool front, Time limit) override;
  Result<Watching> watch_hold(const Holds& holds, Time limit) override;
  Result<HandOff> await_hand_off(Time until) override;
  Result<Holding> inspect(const LockName& name, Time limit) override;
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;
  Result<RevokeReply> revoke(const LockName& name, const RevokeOrder& order, Time limit) override;
  Result<std::optional<LastSuccess>> forget(const LockName& name, Time limit) override;

 private:
  bool has_news();

  std::shared_ptr<MemoryServer> server_;
  const WakeUp* interrupt_;
  lease_table::Watched watched_;
  std::uint64_t seen_changes_ = 0;
};

}  // namespace dlock
