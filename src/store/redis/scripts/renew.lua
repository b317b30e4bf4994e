-- renew: makes the leases of the holds of one run last ttl from now.
--
-- KEYS  for each name: lock, holds, revoked
-- ARGV  1 serial  2 ttl in ms, or 0: only look  3 of a look: the ttl of a lease that is renewed,
--       or 0; then for each name: owner, mode, tag
-- Returns {'renewed'}            all of them
--         {'held'}               of a look: ours; no lease was changed but one of ours beside
--                                others that somebody had cut short
--         {'revoked', by, which}        ours, but renewals are refused; the lease runs on to its
--                                       end; which: by its number from 0
--         {'lost', {holding}, which, 1|0}  one of them is another's, nobody's, or not a lock: that
--                                       goes before; 1: acquire took it, and release gave it back
--
-- Extends, never shortens, never creates. The hold's record is taken out before the lock is looked
-- at, and put back after: a write comes first, so a replica, a server without its replicas or one
-- with a full disk answers with an error, and 'lost' is always the word of a master that may write.
-- A hold without a record is not given one: a late copy of a renewal must not bring a released hold
-- back.
-- include: modes.lua
-- include: holding.lua
local serial, ttl, whole = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function renew(lock, holds, revoked, owner, mode, tag)  -- nothing, or what to answer instead
  local id = owner .. '#' .. serial
  local record = serial ~= 'kept' and redis.call('HGET', holds, id)
  redis.call('HDEL', holds, record and id or '')
  local kind = redis.call('TYPE', lock)['ok']
  if kind ~= 'hash' or not holds_it(lock, holds, tag, owner, mode) then
    -- Java's pair does not see a plain hold, and would take ours for one of its readers.
    if kind == 'hash' and mode == 'exclusive' and mode_of(lock) ~= mode then
      redis.call('HDEL', lock, owner)
    end
    local released = is_of_acquire(serial) and was_released(tag, id)
    return {'lost', holding(lock, holds, revoked, tag), 0, released and 1 or 0}
  end
  if record then redis.call('HSET', holds, id, record) end
  local by = redis.call('TYPE', revoked)['ok'] == 'hash' and redis.call('HGET', revoked, owner)
  local lasts = ttl
  -- Java's watchdog cuts the leases of all readers to its own. One that is renewed in time has
  -- never less than half left.
  if ttl == 0 and is_beside(mode) then
    local ours = lease_left(tag, owner, redis.call('HGET', lock, owner)) or whole
    if math.min(redis.call('PTTL', lock), ours) < whole / 2 then lasts = whole end
  end
  if not by and lasts > 0 then
    if is_beside(mode) then set_leases(tag, owner, redis.call('HGET', lock, owner), lasts) end
    if redis.call('PTTL', lock) < lasts then redis.call('PEXPIRE', lock, lasts) end
  end
  keep_holds(lock, holds)  -- the key may have gone with its only record
  return by and {'revoked', by}
end

local revoked
for i = 4, #ARGV, 3 do
  local owner, mode, tag = unpack(ARGV, i, i + 2)
  local trouble = renew(KEYS[i - 3], KEYS[i - 2], KEYS[i - 1], owner, mode, tag)
  if trouble then trouble[3] = (i - 4) / 3 end  -- of which name
  if trouble and trouble[1] == 'lost' then return trouble end
  revoked = revoked or trouble
end
return revoked or {ttl > 0 and 'renewed' or 'held'}
