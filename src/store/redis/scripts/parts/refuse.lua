-- For acquire: a refused claim waits in the lines of all its names that it could ever get.
-- Needs freeze.lua, line.lua, claim.lua, supersede.lua, waits.lua.

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
