-- For release: the owner has released its write hold, and still reads: the lock becomes that of a
-- reader, whose leases count from now on.
-- Needs server.lua, names.lua, leases.lua, line.lua.
local function go_on_reading(lock, holds, line, waiters, owner, tag)
  redis.call('HSET', lock, 'mode', 'read')
  settle(lock, holds, tag)
  redis.pcall(publish, pair_channel(tag), '1')
  pcall(call_first, lock, tag, line, waiters)
  if redis.call('HEXISTS', lock, owner) == 1 then return {'still_held'} end
  return {'released', 1}
end
