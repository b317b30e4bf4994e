-- Wakes Redisson's waiters if the lock is gone or ends sooner than they were told: they notice
-- nothing else. `lasted` is the lock's PTTL before the change. A server may refuse to publish.
-- Needs server.lua, names.lua.
local function tell_redisson(lock, tag, mode, lasted)
  local lasts = redis.call('PTTL', lock)
  if lasts ~= -2 and lasts >= lasted - 1000 then return end
  local pair = mode == 'shared' or mode == 'write'
  redis.pcall(publish, (pair and pair_channel_of or lock_channel_of) .. tag,
              mode == 'write' and '1' or '0')
end
