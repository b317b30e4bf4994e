-- For acquire: whether a name has room for the claim, which holds nothing there yet.
-- Needs types.lua, modes.lua, freeze.lua, leases.lua, line.lua, claim.lua.
local function look(n)  -- sets n.how to 'take', 'turn' or 'busy'
  n.frozen = freeze_of(n.holds)
  local fits = not n.frozen and has_room(n.lock, mode, slots)
  if not fits and not n.frozen and is_hash(n.lock) and is_beside(mode_of(n.lock)) then
    settle(n.lock, n.holds, n.tag)
    fits = has_room(n.lock, mode, slots)
  end
  n.how = not n.given_up and fits and may_take(n.lock, n.tag, n.line, n.waiters, me) or 'busy'
end
