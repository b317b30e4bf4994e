-- The waiting line of a lock: two sorted sets with the same waiters. In `line` the score is the
-- arrival (µs of server time, growing), in `waiters` the time (ms) until which the waiter counts as
-- alive; each of its tries moves that time. A claim of several names waits in the line of each.
-- Needs server.lua, time.lua, names.lua, modes.lua, waiter.lua.
local line_life, turn_life, most_at_once = 10000, 1000, 1000  -- ms, ms, waiters
local beat_and_call = 5000  -- ms between two tries of a waiter, at most

local function turn_channel(tag, waiter_id) return turn_of .. tag .. ':' .. waiter_id end

-- Removes waiters that have not tried again in time. Returns whether there were any.
local function prune(line, waiters)
  local dead = redis.call('ZRANGEBYSCORE', waiters, '-inf', '(' .. now_ms_digits(),
                          'LIMIT', '0', most_at_once)
  for _, who in ipairs(dead) do leave(line, waiters, who) end
  return #dead > 0
end

-- Adds `who` to the end of the line. If `who` is already in line, only notes that it is alive.
local function join_line(line, waiters, who)
  if not redis.call('ZSCORE', line, who) then
    local last = tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or '0')
    redis.call('ZADD', line, decimal(math.max(now_us(), last + 1)), who)
  end
  redis.call('ZADD', waiters, decimal(now_ms() + line_life), who)
  redis.call('PEXPIRE', line, 6 * line_life)
  redis.call('PEXPIRE', waiters, 6 * line_life)
end

-- Returns whether a waiter that tried lately may have no subscription because the slot has moved:
-- it must first subscribe at the new server.
local function may_be_moving(waiters, who)
  local ends = in_cluster and redis.call('ZSCORE', waiters, who)
  return ends and tonumber(ends) > now_ms() + line_life - beat_and_call
end

-- If the lock has room for the first waiter, tells the first that it is its turn and the second
-- that it is next. Returns whether the first was told.
--
-- A waiter whose channel has no subscriber is dead and removed. `me` is the caller and needs no
-- message. The first waiter has a second to try; after that it counts as dead, and the second,
-- which knows that it is next, tries without a message. If the lock has room only for `me`, the
-- first waiter gets a message without effect, which tests if it is alive and so keeps `me` out.
local function call_first(lock, tag, line, waiters, me)
  local told, first_two = false, redis.call('ZRANGE', line, '0', '1')
  if #first_two == 0 then return false end
  if prune(line, waiters) then first_two = redis.call('ZRANGE', line, '0', '1') end
  for _ = 1, most_at_once do
    local who, word = first_two[told and 2 or 1], told and 'next' or 'turn'
    if not who or not told and who == me then break end
    if not told and not has_room(lock, mode_in(who), tonumber(who:match('"slots":(%d+)'))) then
      if not me then break end
      word = 'wait'
    end
    local heard = redis.pcall(publish, turn_channel(tag, waiter_id(who)), word)
    local silent = heard == 0 and who ~= me and not polls(who)
    if silent and not may_be_moving(waiters, who) then
      leave(line, waiters, who)
      first_two = redis.call('ZRANGE', line, '0', '1')
    elseif word ~= 'turn' then
      break
    else
      if not silent then redis.call('ZADD', waiters, 'LT', decimal(now_ms() + turn_life), who) end
      told = true
    end
  end
  return told
end

-- For a lock with room for `who` ('' if not in line): returns 'take' if no living waiter is before
-- it; 'turn' if that waiter has room as well and was told; otherwise 'busy'.
local function may_take(lock, tag, line, waiters, who)
  local told = call_first(lock, tag, line, waiters, who)
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  if not first or first == who then return 'take' end
  return told and 'turn' or 'busy'
end
