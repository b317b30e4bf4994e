// SPDX-License-Identifier: MIT
// The keys and channels of a lock in Redis: dlock-protocol(7). Their names stand here, and once
// more in scripts/parts/names.lua for the names that scripts build themselves.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace dlock {

// The start of a name; the tag of the lock follows.
namespace redis_name {
using Start = std::string_view;
inline constexpr Start k_token = "redisson_lock_token:";
inline constexpr Start k_holds = "dlock:holds:";
inline constexpr Start k_revoked = "dlock:revoked:";
inline constexpr Start k_line = "dlock:line:";
inline constexpr Start k_waiters = "dlock:waiters:";
inline constexpr Start k_done = "dlock:done:";
inline constexpr Start k_released = "dlock:released:";
inline constexpr Start k_never = "dlock:never:";  // no such key ever exists: parts/cluster.lua
inline constexpr Start k_latch = "redisson_unlock_latch:";       // Redisson's own
inline constexpr Start k_channel = "redisson_lock__channel:";    // for releases
inline constexpr Start k_pair_channel = "redisson_rwlock:";      // for releases of a pair
inline constexpr Start k_turn = "dlock:turn:";                   // a channel for each waiter
inline constexpr std::string_view k_lease = ":rwlock_timeout:";  // in a key, before a number
}  // namespace redis_name

// The names of one lock. `tagged` is its key in braces, unless the key has a brace already, as
// Redisson does it: all keys of a lock then share a cluster slot.
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

// Whether all keys of the lock are in one slot of a cluster; not if its braces are no hash tag.
bool in_one_slot(const Keys& keys);

// Whether a lock could have this key as a metadata key.
bool is_metadata_key(std::string_view key);

// Whether the key is only a hash tag: "{x}" and "x" would have the same metadata keys.
bool is_only_a_tag(std::string_view key);

}  // namespace dlock
