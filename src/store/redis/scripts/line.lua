-- The waiting line of a lock: `line` has each waiter with its arrival (µs of server time, growing),
-- `waiters` the same with the time (ms) until which it is believed to live. A waiter is its record,
-- {"id":"<owner>#<serial>", ...}; "polls":true says that it hears nothing.
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

-- Puts `who` at the end of the line, or only tells that it lives. False: `most` wait already.
local function stand(line, waiters, who, most)
  local now, arrival = line_now()
  if not redis.call('ZSCORE', line, who) then
    if most and redis.call('ZCARD', line) >= most then return false end
    local last = tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or '0')
    redis.call('ZADD', line, string.format('%.0f', math.max(arrival, last + 1)), who)
  end
  redis.call('ZADD', waiters, string.format('%.0f', now + line_life), who)
  redis.call('PEXPIRE', line, 6 * line_life)
  redis.call('PEXPIRE', waiters, 6 * line_life)
  return true
end

-- The lock is free: tells the first that it is its turn, and the one behind it that it is next. Who
-- was to hear it and does not is dead, and out; but not `me`, who asks just now. The first has a
-- second; then it is out as well, and who is next comes by itself.
local function offer(line, waiters, turn, me)
  local now = line_now()
  prune(line, waiters, now)
  local rank, word = 0, 'turn'
  for _ = 1, most_at_once do
    local who = redis.call('ZRANGE', line, rank, rank)[1]
    if not who then return end
    local heard = redis.pcall('PUBLISH', turn .. (who:match('^{"id":"([^"]+)"') or ''), word)
    if heard == 0 and who ~= me and not who:find('^{"id":"[^"]+","polls":true') then
      leave(line, waiters, who)
    elseif word == 'next' then
      return
    else
      redis.call('ZADD', waiters, 'LT', string.format('%.0f', now + turn_life), who)
      rank, word = 1, 'next'
    end
  end
end

-- Nobody who lives stands before `who` ('' stands nowhere). Whoever does is told.
local function may_take(line, waiters, who, turn)
  if redis.call('EXISTS', line) == 0 then return true end
  prune(line, waiters, line_now())
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  if not first or first == who then return true end
  offer(line, waiters, turn, who)
  first = redis.call('ZRANGE', line, 0, 0)[1]
  return not first or first == who
end
