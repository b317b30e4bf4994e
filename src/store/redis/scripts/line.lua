-- The waiting line of a lock: `line` has each waiter with its arrival (µs of server time, growing),
-- `waiters` the same with the time (ms) until which it is believed to live. A waiter is its record,
-- {"id":"<owner>#<serial>", ...}; "polls":true says that it hears nothing, "mode" and "slots" how it
-- wants the lock. Who waits for several names stands in the line of each.
local line_life, turn_life, most_at_once = 10000, 1000, 1000

local function line_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

local function leave(line, waiters, who)
  redis.call('ZREM', line, who)
  redis.call('ZREM', waiters, who)
end

-- Takes out who has not been heard of in time.
local function prune(line, waiters, now)
  local limit = string.format('(%.0f', now)
  for _, who in ipairs(redis.call('ZRANGEBYSCORE', waiters, '-inf', limit,
                                  'LIMIT', 0, most_at_once)) do
    leave(line, waiters, who)
  end
end

-- Puts `who` at the end of the line, or only tells that it lives.
local function stand(line, waiters, who)
  local now, arrival = line_now()
  if not redis.call('ZSCORE', line, who) then
    local last = tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or '0')
    redis.call('ZADD', line, string.format('%.0f', math.max(arrival, last + 1)), who)
  end
  redis.call('ZADD', waiters, string.format('%.0f', now + line_life), who)
  redis.call('PEXPIRE', line, 6 * line_life)
  redis.call('PEXPIRE', waiters, 6 * line_life)
end

-- If the lock has room for the first in line: tells it that it is its turn, and the one behind it that
-- it is next. Who was to hear it and does not is dead, and out; but `me`, who asks just now, is not
-- told. The first has a second; then it is out as well, and who is next comes by itself. Where only
-- `me` has room, the first must live to keep it out.
local function call_first(lock, tag, line, waiters, me)
  if redis.call('EXISTS', line) == 0 then return false end
  local now, turn, told = line_now(), 'dlock:turn:' .. tag .. ':', false
  prune(line, waiters, now)
  for _ = 1, most_at_once do
    local rank, word = told and 1 or 0, told and 'next' or 'turn'
    local who = redis.call('ZRANGE', line, rank, rank)[1]
    if not who or not told and who == me then break end
    if not told and not has_room(lock, mode_in(who), tonumber(who:match('"slots":(%d+)'))) then
      if not me then break end
      word = 'wait'
    end
    local heard = redis.pcall('PUBLISH', turn .. (who:match('^{"id":"([^"]+)"') or ''), word)
    if heard == 0 and who ~= me and not who:find('^{"id":"[^"]+","polls":true') then
      leave(line, waiters, who)
    elseif word ~= 'turn' then
      break
    else
      redis.call('ZADD', waiters, 'LT', string.format('%.0f', now + turn_life), who)
      told = true
    end
  end
  return told
end

-- Of a lock with room for `who` ('' stands nowhere): 'take', if nobody who lives stands before it;
-- 'turn', if whoever does has room as well, and is told; else 'busy'.
local function may_take(lock, tag, line, waiters, who)
  local told = call_first(lock, tag, line, waiters, who)
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  if not first or first == who then return 'take' end
  return told and 'turn' or 'busy'
end
