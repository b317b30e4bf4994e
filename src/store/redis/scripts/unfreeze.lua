-- unfreeze: ends a freeze before its time, and tells the waiters.
--
-- KEYS  1 lock   2 holds   3 line   4 waiters
-- ARGV  1 tag
-- Returns {'unfrozen', ms left, record}   the freeze that has ended
--         {'nothing'}                     the name was not frozen
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/time.lua
-- include: parts/types.lua
-- include: parts/names.lua
-- include: parts/modes.lua
-- include: parts/hold.lua
-- include: parts/freeze.lua
-- include: parts/records.lua
-- include: parts/leases.lua
-- include: parts/redisson.lua
-- include: parts/waiter.lua
-- include: parts/line.lua
local lock, holds, line, waiters = unpack(KEYS)
local lasted = redis.call('PTTL', lock)
local left, record = end_freeze(lock, holds)
if not left then return {'nothing'} end
if redis.call('EXISTS', lock) == 0 then
  tell_redisson(lock, ARGV[1], 'exclusive', lasted)
  pcall(call_first, lock, ARGV[1], line, waiters)
end
return {'unfrozen', left, record}
