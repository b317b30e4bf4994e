// SPDX-License-Identifier: MIT
// MemoryStore: a table store in this process. All stores over one MemoryServer are clients of the
// same locks; each may be used by another thread.
//
// Only await_hand_off can be interrupted. The other calls never sleep, except for a mutex that is
// held for microseconds, so they ignore their limit.
#pragma once

#include "store/table/table_store.hpp"
#include "sys/interrupt.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

// The locks, which all clients share.
struct MemoryServer {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t changes = 0;  // how often watchers were told to look
  std::map<std::string, lease_table::StoredLock> locks;
  // If set, both clocks of the server show this time. Otherwise they are the clocks of this
  // machine.
  std::optional<Duration> time;
};

class MemoryStore final : public TableStore {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryServer> server, const Interrupt* interrupt = nullptr)
      : server_(std::move(server)), interrupt_(interrupt) {}

  std::string where() const override { return "memory:"; }
  Result<std::vector<std::string>> list(std::string_view glob, Time limit) override;

 private:
  Result<void> transact(const std::vector<LockName>& names,
                        const Occasion& occasion,
                        Time limit,
                        const Change& change) override;
  Result<void> read(const std::vector<LockName>& names, Time limit, const Look& look) override;
  Result<void> watch_rows(const std::vector<LockName>& names,
                          const std::vector<std::string>& ids,
                          Time limit) override;
  Result<bool> await_change(Time until) override;
  std::vector<lease_table::StoredLock> rows_of(const std::vector<LockName>& names) const;
  Moment moment(Time sent_at) const;

  std::shared_ptr<MemoryServer> server_;
  const Interrupt* interrupt_;
  std::uint64_t seen_changes_ = 0;
};

}  // namespace dlock
