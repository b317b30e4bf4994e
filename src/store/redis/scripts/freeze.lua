-- freeze: no new claim is granted the name for so many ms; a present holder goes on.
--
-- KEYS  1 lock   2 holds   3 revoked   4 line
-- ARGV  1 tag   2 a new owner   3 ms   4 record without its first brace
-- Returns {'frozen', {holding}}   the holding is the state before; a later freeze replaces an
--                                 earlier one
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
-- include: parts/holding.lua
local lock, holds, revoked, line = unpack(KEYS)
local tag, owner, lasts, rest = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local before = holding(lock, holds, revoked, tag, line)

end_freeze(lock, holds)
if is_hash(lock) and is_beside(mode_of(lock)) then settle(lock, holds, tag) end
if redis.call('EXISTS', lock) == 0 or not is_hash(holds) then redis.call('DEL', holds) end
local record = '{"token":0,"since_ms":' .. now_ms_digits() .. ',"kept":true,' .. rest
redis.call('HSET', holds, 'frozen', decimal(now_ms() + lasts) .. ' ' .. owner .. ' ' .. record)
if redis.call('PTTL', holds) < lasts + outlast then
  redis.call('PEXPIRE', holds, decimal(lasts + outlast))
end
keep_frozen(lock, holds)
return {'frozen', before}
