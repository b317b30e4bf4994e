-- For acquire: takes the claim out of the lines of all its names, and passes on its turn.
-- Needs claim.lua, claimed.lua, waiter.lua, line.lua.
local function leave_lines()
  for _, n in ipairs(me ~= '' and names or {}) do
    leave(n.line, n.waiters, me)
    call_first(n.lock, n.tag, n.line, n.waiters)
  end
end
