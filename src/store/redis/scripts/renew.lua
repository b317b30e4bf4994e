-- renew: makes the lease of a hold last ttl from now.
--
-- KEYS  1 lock   2 holds   3 revoked
-- ARGV  1 owner  2 serial  3 ttl in ms, or 0: only look
-- Returns {'renewed'}
--         {'held'}               of a look: ours; no lease was changed
--         {'revoked', by}        ours, but renewals are refused; the lease runs on to its end
--         {'lost', {holding}}    another's, nobody's, or not a lock
--
-- Extends, never shortens, never creates. The hold's record is taken out before the lock is looked
-- at, and put back after: a write comes first, so a replica, a server without its replicas or one
-- with a full disk answers with an error, and 'lost' is always the word of a master that may write.
-- A hold without a record is not given one: a late copy of a renewal must not bring a released hold
-- back.
-- include: holding.lua
local lock, holds, revoked = KEYS[1], KEYS[2], KEYS[3]
local owner, id, ttl = ARGV[1], ARGV[1] .. '#' .. ARGV[2], tonumber(ARGV[3])

local record = redis.call('HGET', holds, id)
redis.call('HDEL', holds, id)
if redis.call('TYPE', lock)['ok'] ~= 'hash' or redis.call('HEXISTS', lock, owner) == 0 then
  return {'lost', holding(lock, holds, revoked)}
end

if record then redis.call('HSET', holds, id, record) end
local function keep_holds()  -- as long as the lock; the key may have gone with its only record
  local left = redis.call('PTTL', lock)
  if left >= 0 then redis.call('PEXPIRE', holds, left) end
end
if redis.call('TYPE', revoked)['ok'] == 'hash'
  and redis.call('HGET', revoked, 'owner') == owner then
  keep_holds()
  return {'revoked', redis.call('HGET', revoked, 'by') or '?'}
end

if ttl > 0 and redis.call('PTTL', lock) < ttl then redis.call('PEXPIRE', lock, ttl) end
keep_holds()
return {ttl > 0 and 'renewed' or 'held'}
