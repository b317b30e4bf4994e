-- release: gives one hold back, and the lock with the last one.
--
-- KEYS  1 lock   2 holds   3 revoked   4 line   5 waiters
-- ARGV  1 owner  2 serial  3 channel  4 channel of turns
-- Returns {'released', 1|0}   the lock is free; 0: the server refused to tell the waiters
--         {'still_held'}      nested holds or an ancestor keep it
--         {'not_held'}        nothing of ours (any more)
--
-- Idempotent: the record of the hold is there once. Its removal is a write before the first look,
-- so 'not_held' is never a replica's word (see renew.lua). A field of another is never touched.
-- include: line.lua
local lock, holds, revoked, line, waiters = unpack(KEYS)
local owner, id = ARGV[1], ARGV[1] .. '#' .. ARGV[2]

local known = redis.call('HDEL', holds, id)
if known == 0 or redis.call('TYPE', lock)['ok'] ~= 'hash'
  or redis.call('HEXISTS', lock, owner) == 0 then
  return {'not_held'}
end
if redis.call('HINCRBY', lock, owner, -1) > 0 then return {'still_held'} end

redis.call('HDEL', lock, owner)  -- the key goes with its last field
if redis.call('TYPE', revoked)['ok'] == 'hash'
  and redis.call('HGET', revoked, 'owner') == owner then
  redis.call('DEL', revoked)
end
if redis.call('EXISTS', lock) == 1 then return {'released', 1} end  -- somebody wrote into our hash
redis.call('DEL', holds)
local told = redis.pcall('PUBLISH', ARGV[3], '0')  -- Redisson's word for "unlocked"
-- The lock is free whatever is wrong with the line.
if redis.call('EXISTS', line) == 1 then pcall(offer, line, waiters, ARGV[4]) end
return {'released', type(told) == 'number' and 1 or 0}
