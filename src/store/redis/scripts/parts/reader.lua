-- For release: the owner has released its write hold but still has reads. The lock becomes a
-- readers' lock, whose readers' leases decide from now on.
-- Needs server.lua, names.lua, leases.lua, line.lua.
local function go_on_reading(lock, holds, line, waiters, owner, tag)
  redis.call('HSET', lock, 'mode', 'read')
  settle(lock, holds, tag)
  redis.pcall(publish, pair_channel_of .. tag, '1')
  pcall(call_first, lock, tag, line, waiters)
  return redis.call('HGET', lock, owner) and 'still_held' or 'released'
end
