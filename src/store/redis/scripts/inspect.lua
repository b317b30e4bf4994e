-- inspect: returns the state of a name. Changes nothing.
--
-- KEYS  1 lock   2 holds   3 revoked   4 line   5 waiters   6 done
-- ARGV  1 tag
-- Returns {{holding}, {waiter, arrival in µs, ...}, {success}, {last}}   see holding.lua and
--         line.lua; the first 64 waiters that are alive; the newest success: the time of its grant
--         in ms and for how many ms it is remembered, or nothing; the newest run that reported its
--         end (ended.lua), for how many ms it is remembered and the newest token, or nothing
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
local lock, holds, revoked, line, waiters, done = unpack(KEYS)
local first, living = {}, 0
if redis.call('EXISTS', line) == 1 then
  living = redis.call('ZCOUNT', waiters, decimal(now_ms()), '+inf')
  local all = redis.call('ZRANGE', line, 0, 63, 'WITHSCORES')
  for i = 1, #all, 2 do
    local until_ms = tonumber(redis.call('ZSCORE', waiters, all[i]) or '0')
    if until_ms >= now_ms() then
      first[#first + 1] = all[i]:sub(1, 4096)
      first[#first + 1] = all[i + 1]
    end
  end
end
local reply = holding(lock, holds, revoked, ARGV[1], line)
reply[8] = living
local since = text_at(done)
local success = tonumber(since) and {since:sub(1, 20), redis.call('PTTL', done)}
local last = last_of .. ARGV[1]
local ended, token = redis.pcall('GET', last), redis.pcall('GET', token_of .. ARGV[1])
if type(ended) == 'string' then
  token = type(token) == 'string' and token or ''
  ended = {ended:sub(1, 4096), redis.call('PTTL', last), token}
else
  ended = {}
end
return {reply, first, success or {}, ended}
