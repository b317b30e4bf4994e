-- Keys and channels whose names contain an owner or a waiter, or that only scripts use; KEYS has
-- all others. `tag` is the key of the lock in braces. redis_keys.hpp has these names for C++.
local function lease_key(tag, owner, i) return tag .. ':' .. owner .. ':rwlock_timeout:' .. i end
local function token_key(tag) return 'redisson_lock_token:' .. tag end
local function last_key(tag) return 'dlock:last:' .. tag end
local function released_key(tag) return 'dlock:released:' .. tag end

local function turn_channel(tag, waiter_id) return 'dlock:turn:' .. tag .. ':' .. waiter_id end
-- Where Redisson's waiters wait for a release: of a plain lock, and of a reader-writer pair.
local function lock_channel(tag) return 'redisson_lock__channel:' .. tag end
local function pair_channel(tag) return 'redisson_rwlock:' .. tag end
