-- For acquire_one: a refused claim waits in the lines of all its names that it could ever get. It
-- may wait if one of these lines has room for it (--max-waiters).
-- Needs freeze.lua, line.lua, claim.lua, waits.lua.

-- Returns whether the claim may wait in these lines.
local function may_wait_for_one()
  local may = false
  for _, n in ipairs(names) do
    if redis.call('EXISTS', n.line) == 1 then prune(n.line, n.waiters) end
    local full = most and redis.call('ZCARD', n.line) >= most
    may = may or me ~= '' and waits(n) and (not full or redis.call('ZSCORE', n.line, me))
  end
  return may
end

-- Puts the claim into the lines, and returns the reply. `given_up`: the claim had a hold that was
-- revoked, and waits for the end of that hold only.
local function refuse_one(given_up)
  for _, n in ipairs(names) do
    if given_up then n.how = n.given_up and 'busy' or nil end
    -- The last holder of a frozen name may have died without a release.
    local frozen = n.frozen or given_up and freeze_of(n.holds)
    if frozen then keep_frozen(n.lock, n.holds) end
  end
  local may = may_wait_for_one()
  forfeit_places()
  local best, least, turn = 1, nil, -1
  for i, n in ipairs(names) do
    if waits(n) then
      if may then join_line(n.line, n.waiters, me) end
      local before = may and redis.call('ZRANK', n.line, me) or redis.call('ZCARD', n.line)
      if not least or before < least then best, least = i, before end
      local left = n.how == 'turn' and turn_left(n)
      if left and (turn < 0 or left < turn) then turn = left end
    end
  end
  local n = names[best]
  return {'busy', holding(n.lock, n.holds, n.revoked, n.tag, n.line, mode),
    may and least + 1 or 0, best - 1, turn, least and 0 or 1}
end
