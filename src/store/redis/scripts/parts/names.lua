-- Keys and channels that only scripts use; KEYS has all others. These are what stands before the
-- tag, which is the key of the lock in braces. leases.lua and line.lua make the names that contain
-- an owner or a waiter. redis_keys.hpp has all of them for C++.
local token_of, last_of, released_of = 'redisson_lock_token:', 'dlock:last:', 'dlock:released:'
local turn_of, lease_end = 'dlock:turn:', ':rwlock_timeout:'
-- Where Redisson's waiters wait for a release: of a plain lock, and of a reader-writer pair.
local lock_channel_of, pair_channel_of = 'redisson_lock__channel:', 'redisson_rwlock:'
