-- inspect: how a name stands now. Changes nothing.
--
-- KEYS  1 lock   2 holds   3 revoked   4 line   5 waiters   6 done
-- ARGV  1 tag
-- Returns {{holding}, {waiter, arrival in µs, ...}, {success}}   see holding.lua, line.lua; the first
--         64 who live; of the newest success when it was granted and until when it is remembered, in
--         ms, or nothing
-- include: modes.lua
-- include: holding.lua
-- include: line.lua
local lock, holds, revoked, line, waiters, done = unpack(KEYS)
local now, first, dead = line_now(), {}, 0
if redis.call('EXISTS', line) == 1 then
  dead = redis.call('ZCOUNT', waiters, '-inf', string.format('(%.0f', now))
  local all = redis.call('ZRANGE', line, 0, 63, 'WITHSCORES')
  for i = 1, #all, 2 do
    local until_ms = tonumber(redis.call('ZSCORE', waiters, all[i]) or '0')
    if until_ms >= now then
      first[#first + 1] = all[i]:sub(1, 4096)
      first[#first + 1] = all[i + 1]
    end
  end
end
local reply = holding(lock, holds, revoked, ARGV[1], line)
reply[8] = reply[8] - dead
local since = redis.call('TYPE', done)['ok'] == 'string' and redis.call('GET', done)
local left = tonumber(since) and redis.call('PTTL', done)
return {reply, first, left and {since:sub(1, 20), left} or {}}
