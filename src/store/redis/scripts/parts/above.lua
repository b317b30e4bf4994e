-- For acquire: holds that the claim already has, and holds of its ancestors (the runs above it).
-- Needs types.lua, modes.lua, records.lua, leases.lua, released.lua, claim.lua.

-- Returns the mode in which we may join an ancestor's hold of mode `above`; nil: we may not.
local function joined_as(above)
  if above == 'slots' or mode == 'slots' then
    return above == mode and 'slots' or nil
  elseif above == 'shared' then
    return mode == 'shared' and 'shared' or nil
  end
  return above == 'write' and mode == 'shared' and 'shared' or above
end

-- Returns the record of a hold that is alive and not revoked. Otherwise nil, and whether it was
-- revoked.
local function living(n, whose, what)
  local found = redis.call('HGET', n.holds, id_of(whose, what))
  if not found or not holds_it(n.lock, n.holds, n.tag, whose, mode_in(found)) then return end
  if n.revocations and redis.call('HGET', n.revoked, whose) then return nil, true end
  return found
end

-- Looks for a hold from an earlier try of this claim, whose reply was lost: under our own owner or
-- an ancestor's. If that hold was revoked or released since, sets n.given_up: the claim must not
-- get a second hold beside it.
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

local function look_above(n)  -- sets n.how to 'again', 'join' or 'own', or leaves it nil
  if not is_hash(n.lock) or not is_hash(n.holds) then return end
  n.revocations = is_hash(n.revoked)
  if not find_again(n) then find_ancestor(n) end
end

-- Returns true if an ancestor's hold on which the caller relies was lost: it is gone and was not
-- released.
local function lost_above(n)
  for _, above in ipairs(n.above) do
    local id = id_of(above.owner, above.serial)
    if relied_on[id] and not was_released(n.tag, id) then return true end
  end
end
