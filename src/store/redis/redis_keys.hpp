// SPDX-License-Identifier: MIT
// The keys and channels of a lock in Redis: dlock-protocol(7).
#pragma once

#include <string>
#include <utility>

namespace dlock {

// The names Redis knows a lock by. T is K in braces unless K has one (redisson.md 1.2): all keys of
// a lock then share a cluster slot.
struct Keys {
  explicit Keys(std::string key)
      : lock(std::move(key)),
        tagged(lock.find('{') == std::string::npos ? '{' + lock + '}' : lock) {}
  std::string lock;
  std::string tagged;
  std::string token = "redisson_lock_token:" + tagged;
  std::string holds = "dlock:holds:" + tagged;
  std::string revoked = "dlock:revoked:" + tagged;
  std::string line = "dlock:line:" + tagged;
  std::string waiters = "dlock:waiters:" + tagged;
  std::string done = "dlock:done:" + tagged;
  std::string channel = "redisson_lock__channel:" + tagged;  // of releases
  std::string pair_channel = "redisson_rwlock:" + tagged;    // of a pair of reader and writer
  std::string turn = "dlock:turn:" + tagged + ':';           // and the id of the waiter
};

}  // namespace dlock
