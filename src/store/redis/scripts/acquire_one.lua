-- acquire_one: grants one of several names, the first that the claim can have. Otherwise the claim
-- waits in the lines of all of them.
--
-- KEYS  for each name: as for acquire; the names in the order in which the claim prefers them
-- ARGV  1 as for acquire, and so all others; --once-per is not among them
-- Returns {'granted', which, owner, record}  the number of the name, from 0
--         {'busy', {holding}, place, which, turn, own}
--                         as acquire does, but: `which` is the name in whose line the claim has, or
--                         would have, the best place, and `place` is that place; `turn` is of the
--                         offer that ends first; `own` is 1 if ancestors hold all names so
--         {'lost', which}
--
-- The rules for each name are those of acquire. A name that an ancestor holds is joined before any
-- other is taken.
--
-- Atomic: with the grant the claim leaves the other lines, where the next waiters may have room.
-- Idempotent by serial: a second call finds the hold of the first, whichever name it is of, and
-- takes no second name; also if that hold was revoked.
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/hold.lua
-- include: parts/record.lua
-- include: parts/token.lua
-- include: parts/rights.lua
-- include: parts/time.lua
-- include: parts/names.lua
-- include: parts/waiter.lua
-- include: parts/claim.lua
-- include: parts/claimed.lua
-- include: parts/types.lua
-- include: parts/modes.lua
-- include: parts/freeze.lua
-- include: parts/records.lua
-- include: parts/line.lua
-- include: parts/leases.lua
-- include: parts/all_rights.lua
-- include: parts/released.lua
-- include: parts/holding.lua
-- include: parts/above.lua
-- include: parts/room.lua
-- include: parts/grant.lua
-- include: parts/waits.lua
-- include: parts/refuse_one.lua

-- Returns whether the claim's own owner is in the lock.
local function is_in(n)
  if not is_hash(n.lock) or is_beside(mode_of(n.lock)) then return n.given_up end
  return redis.call('HGET', n.lock, owner)
    or redis.call('HGET', n.lock, field_of(owner, 'write'))
end

-- 1. Find holds that the claim or an ancestor already has.
local given_up = false  -- the claim has a hold that was revoked, and must not get another
for i, n in ipairs(names) do
  local refused = missing_right(n)
  if refused then return refused end
  -- An error if another program uses one of these keys.
  for _, key in ipairs({n.line, n.waiters}) do redis.call('ZCARD', key) end
  look_above(n)
  if not n.how and lost_above(n) then return {'lost', i - 1} end
  n.given_up = n.how ~= 'again' and is_in(n)
  given_up = given_up or n.given_up
end

-- 2. Choose the name: one that the claim has, one to join, or the first that has room.
local function first_as(how)
  for i, n in ipairs(names) do
    if n.how == how then return i end
  end
end

local function first_with_room()
  for i, n in ipairs(names) do
    if not n.how then look(n) end
    if n.how == 'take' then return i end
  end
end

local chosen = first_as('again')
if given_up and not chosen then return refuse_one(true) end
chosen = chosen or first_as('join') or first_with_room()
if not chosen then return refuse_one(false) end

-- 3. Grant it, and leave all lines.
local granted = names[chosen]
local bad = granted.how == 'take' and next_token(granted)
if bad then return bad end
grant(granted)
for _, n in ipairs(names) do
  if me ~= '' then leave(n.line, n.waiters, me) end
  -- The next waiter may have room: where the claim was before it, or beside the claim.
  if me ~= '' or is_beside(mode) and n == granted then
    call_first(n.lock, n.tag, n.line, n.waiters)
  end
end
return {'granted', chosen - 1, granted.owner, granted.record}
