// SPDX-License-Identifier: MIT
// The names of a lock's keys and channels in Redis (dlock-protocol(7)). The scripts make some of
// these names themselves, in scripts/parts/names.lua; both places must agree.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace dlock {

// The beginnings of the names of keys and channels; the lock's tag follows (Keys::tagged).
namespace redis_name {
using Start = std::string_view;
inline constexpr Start k_token = "redisson_lock_token:";
inline constexpr Start k_holds = "dlock:holds:";
inline constexpr Start k_revoked = "dlock:revoked:";
inline constexpr Start k_line = "dlock:line:";
inline constexpr Start k_waiters = "dlock:waiters:";
inline constexpr Start k_done = "dlock:done:";
inline constexpr Start k_last = "dlock:last:";
inline constexpr Start k_released = "dlock:released:";
// No key with this name ever exists; parts/cluster.lua says what it is for.
inline constexpr Start k_never = "dlock:never:";
inline constexpr Start k_latch = "redisson_unlock_latch:";  // key that only Redisson uses
// Channel with messages about releases of a plain lock.
inline constexpr Start k_channel = "redisson_lock__channel:";
// Channel with messages about releases of a pair of reader and writer locks.
inline constexpr Start k_pair_channel = "redisson_rwlock:";
inline constexpr Start k_turn = "dlock:turn:";  // channel of one waiter, about its turn
// The middle of the key that holds one lease of a reader or slot; the number of the lease follows.
inline constexpr std::string_view k_lease = ":rwlock_timeout:";
}  // namespace redis_name

// The names of the keys of one lock. `tagged` is the lock's key in braces, or, if the key contains
// a brace, the key itself. Redisson does the same. A cluster hashes only the text in braces, so all
// keys of a lock are in one slot.
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

// Returns whether all keys of the lock are in one slot of a cluster. They are in different slots if
// the lock's name contains braces that Redis does not take for a hash tag, as in "a}b{".
bool in_one_slot(const Keys& keys);

// Returns whether the key could be one that dlock itself keeps beside a lock (a record, a line, a
// token).
bool is_metadata_key(std::string_view key);

// Returns whether the whole key is a hash tag, such as "{x}". The locks "{x}" and "x" would share
// all keys except the lock's own.
bool is_only_a_tag(std::string_view key);

}  // namespace dlock
