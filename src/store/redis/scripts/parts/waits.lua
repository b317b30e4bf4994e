-- For acquire: where a refused claim waits.
-- Needs line.lua, claim.lua, claimed.lua.
local function waits(n) return n.how == 'busy' or n.how == 'turn' or n.how == 'take' end

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
