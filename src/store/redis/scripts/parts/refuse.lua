-- For acquire: a refused claim waits in the lines of all its names that it could ever get.
-- Needs freeze.lua, line.lua, claim.lua, supersede.lua.
local function waits(n) return n.how == 'busy' or n.how == 'turn' or n.how == 'take' end

-- Returns whether the claim may wait in all these lines, and the first name in the way whose line
-- is full (it has `most` other waiters). `own`: an ancestor is in the way, so the claim waits
-- nowhere.
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

-- A claim that was silent and lost its place in one line loses its places in all: otherwise two
-- claims could be in a different order in each line and wait for each other for ever.
local function forfeit_places()
  for _, n in ipairs(names) do
    if #names > 1 and me ~= '' and waits(n) and not redis.call('ZSCORE', n.line, me) then
      for _, other in ipairs(names) do leave(other.line, other.waiters, me) end
    end
  end
end

local function turn_left(n)  -- returns how many ms the first waiter's turn still lasts
  local first = redis.call('ZRANGE', n.line, 0, 0)[1]
  local ends = tonumber(first and redis.call('ZSCORE', n.waiters, first) or '0')
  return math.max(ends - now_ms(), 0)
end

-- Puts the claim into the lines, and returns the reply.
local function refuse(in_the_way)
  local own = names[in_the_way].how == 'own'
  local may, full_at = may_wait(own)
  forfeit_places()
  for _, n in ipairs(names) do
    if n.frozen then keep_frozen(n.lock, n.holds) end  -- its last holder died without a release
    if may and waits(n) and not own then join_line(n.line, n.waiters, me) end
  end
  local i = full_at or in_the_way
  local n = names[i]
  local place = may and redis.call('ZRANK', n.line, me)
  local reply = {'busy', holding(n.lock, n.holds, n.revoked, n.tag, n.line, mode),
    place and place + 1 or 0, i - 1, n.how == 'turn' and turn_left(n) or -1, own and 1 or 0}
  if place then supersede_holder(n) end
  return reply
end
