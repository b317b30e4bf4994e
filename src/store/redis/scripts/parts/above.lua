-- For acquire: holds that the claim has already, and holds of its ancestors, the runs above it.
-- Needs types.lua, modes.lua, records.lua, leases.lua, released.lua, claim.lua.

-- The mode in which we may join an ancestor's hold of this mode; nil: in none.
local function joined_as(above)
  if above == 'slots' or mode == 'slots' then
    return above == mode and 'slots' or nil
  elseif above == 'shared' then
    return mode == 'shared' and 'shared' or nil
  end
  return above == 'write' and mode == 'shared' and 'shared' or above
end

-- The record of this hold while it lives and is not revoked; else nil, and whether it was revoked.
local function living(n, whose, what)
  local found = redis.call('HGET', n.holds, id_of(whose, what))
  if not found or not holds_it(n.lock, n.holds, n.tag, whose, mode_in(found)) then return end
  if n.revocations and redis.call('HEXISTS', n.revoked, whose) == 1 then return nil, true end
  return found
end

-- The hold of an earlier try of this claim, whose reply was lost: under our own owner, or under
-- that of an ancestor. Sets n.given_up if it was revoked or released since: no second hold beside
-- it.
local function find_again(n)
  local count = is_beside(mode_of(n.lock)) and redis.call('HGET', n.lock, owner)
  n.given_up = count and lease_left(n.tag, owner, count)
  local revoked
  n.owner, n.record, revoked = owner, living(n, owner, serial)
  for _, above in ipairs(n.above) do
    if n.record or revoked then break end
    n.owner, n.record, revoked = above.owner, living(n, above.owner, serial)
  end
  if n.record then n.how, n.mode = 'again', mode_in(n.record) end
  if revoked then n.given_up = true end
  return n.record or revoked
end

local function find_ancestor(n)
  for _, above in ipairs(n.above) do
    local found = living(n, above.owner, above.serial)
    if found and token_in(found) then
      local _, number = mode_of(n.lock)
      n.how, n.mode = 'own', joined_as(mode_in(found))
      if n.mode and number == slots then
        n.how, n.owner, n.above_record = 'join', above.owner, found
        return
      end
    end
  end
end

local function look_above(n)  -- sets n.how to 'again', 'join' or 'own', or leaves it
  if not is_hash(n.lock) or not is_hash(n.holds) then return end
  n.revocations = is_hash(n.revoked)
  if not find_again(n) then find_ancestor(n) end
end

-- Was an ancestor's hold lost that the caller relies on? It is gone, and was not released.
local function lost_above(n)
  for _, above in ipairs(n.above) do
    local id = id_of(above.owner, above.serial)
    if relied_on[id] and not was_released(n.tag, id) then return true end
  end
end
