-- For acquire: a claim that is refused waits in the lines of all its names that it could ever get.
-- Needs line.lua, claim.lua.
local function waits(n) return n.how == 'busy' or n.how == 'turn' or n.how == 'take' end

-- May the claim wait in all these lines? Not where `most` others do. And the first name in the way
-- whose line is full. `own`: an ancestor is in the way, and the claim waits for nothing.
local function may_wait(own)
  local may, full_at = me ~= '', nil
  for i, n in ipairs(names) do
    if redis.call('EXISTS', n.line) == 1 then prune(n.line, n.waiters) end
    local full = most and not own and waits(n) and redis.call('ZCARD', n.line) >= most
    if full and not redis.call('ZSCORE', n.line, me) then
      may = false
      full_at = full_at or n.how ~= 'take' and i
    end
  end
  return may, full_at
end

-- A claim that lost its place in one line, because it was silent, loses it in all: two claims that
-- stood in another order in each line would wait for each other for ever.
local function forfeit_places()
  for _, n in ipairs(names) do
    if #names > 1 and me ~= '' and waits(n) and not redis.call('ZSCORE', n.line, me) then
      for _, other in ipairs(names) do leave(other.line, other.waiters, me) end
    end
  end
end

local function turn_left(n)  -- ms that the first in line has left to come
  local first = redis.call('ZRANGE', n.line, 0, 0)[1]
  local ends = tonumber(first and redis.call('ZSCORE', n.waiters, first) or '0')
  return math.max(ends - now_ms(), 0)
end

-- Enters the lines, and returns the reply.
local function refuse(in_the_way)
  local own = names[in_the_way].how == 'own'
  local may, full_at = may_wait(own)
  forfeit_places()
  for _, n in ipairs(names) do
    if may and waits(n) and not own then join_line(n.line, n.waiters, me) end
  end
  local i = full_at or in_the_way
  local n = names[i]
  local place = may and redis.call('ZRANK', n.line, me)
  return {'busy', holding(n.lock, n.holds, n.revoked, n.tag, n.line, mode),
    place and place + 1 or 0, i - 1, n.how == 'turn' and turn_left(n) or -1, own and 1 or 0}
end
