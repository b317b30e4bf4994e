// SPDX-License-Identifier: MIT
// The keys and channels of a lock in Redis (dlock-protocol(7)). Scripts build some of these names
// themselves: scripts/parts/names.lua repeats those.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace dlock {

// The beginnings of the names of keys and channels. The lock's tag follows.
namespace redis_name {
using Start = std::string_view;
inline constexpr Start k_token = "redisson_lock_token:";
inline constexpr Start k_holds = "dlock:holds:";
inline constexpr Start k_revoked = "dlock:revoked:";
inline constexpr Start k_line = "dlock:line:";
inline constexpr Start k_waiters = "dlock:waiters:";
inline constexpr Start k_done = "dlock:done:";
inline constexpr Start k_released = "dlock:released:";
// No key with this name ever exists: parts/cluster.lua.
inline constexpr Start k_never = "dlock:never:";
inline constexpr Start k_latch = "redisson_unlock_latch:";     // used by Redisson only
inline constexpr Start k_channel = "redisson_lock__channel:";  // channel: releases of a plain lock
// Channel: releases of a reader-writer pair.
inline constexpr Start k_pair_channel = "redisson_rwlock:";
inline constexpr Start k_turn = "dlock:turn:";  // channel: one for each waiter
// The part of a lease's key before the number of the lease.
inline constexpr std::string_view k_lease = ":rwlock_timeout:";
}  // namespace redis_name

// The names of one lock. `tagged` is the lock's key in braces, or the key itself if it contains a
// brace, as Redisson does it: so all keys of a lock share a cluster slot.
struct Keys {
  explicit Keys(std::string key)
      : lock(std::move(key)),
        tagged(lock.find('{') == std::string::npos ? '{' + lock + '}' : lock) {}
  std::string lock;
  std::string tagged;
  std::string token = with(redis_name::k_token);
  std::string holds = with(redis_name::k_holds);
  std::string revoked = with(redis_name::k_revoked);
  std::string line = with(redis_name::k_line);
  std::string waiters = with(redis_name::k_waiters);
  std::string done = with(redis_name::k_done);
  std::string channel = with(redis_name::k_channel);
  std::string pair_channel = with(redis_name::k_pair_channel);
  std::string turn = with(redis_name::k_turn) + ':';  // the id of the waiter follows

 private:
  std::string with(redis_name::Start start) const { return std::string(start) + tagged; }
};

// Returns whether all keys of the lock are in one slot of a cluster. They are not if the braces in
// its name are no hash tag.
bool in_one_slot(const Keys& keys);

// Returns whether the key could be one of dlock's own keys of some lock.
bool is_metadata_key(std::string_view key);

// Returns whether the key is only a hash tag: the locks "{x}" and "x" would share their other keys.
bool is_only_a_tag(std::string_view key);

}  // namespace dlock
