-- The keys and channels whose names depend on an owner or a waiter, or that only scripts use. KEYS
-- has the others. `tag` is the key of the lock in braces. redis_keys.hpp has the same names for
-- C++.
local function lease_key(tag, owner, i) return tag .. ':' .. owner .. ':rwlock_timeout:' .. i end
local function released_key(tag) return 'dlock:released:' .. tag end

local function turn_channel(tag, waiter_id) return 'dlock:turn:' .. tag .. ':' .. waiter_id end
-- Where waiters of Redisson wait for a release: of a plain lock, or of a pair of reader and writer.
local function lock_channel(tag) return 'redisson_lock__channel:' .. tag end
local function pair_channel(tag) return 'redisson_rwlock:' .. tag end
