-- acquire: grants one or several names, all or none. It repeats a grant whose reply was lost, and
-- lets a nested run join the hold of its ancestor.
--
-- KEYS  for each name: lock, token, holds, revoked, line, waiters, done
-- ARGV  1 owner  2 serial  3 ttl in ms  4 record without its first brace
--       5 our waiter, to wait in line, or ''  6 what else is asked for (claim.lua), or ''
--       then for each name: tag, number of ancestors that hold it, and owner and serial of each,
--       nearest first; then the ids of the holds of acquire on which the caller relies
-- Returns record                   we have taken the one name, which was free (free.lua)
--         {'granted', owner, record, ...}  for each name; after a join the owner is the ancestor
--         {'busy', {holding}, place, which, turn, own}
--                                  the state of the first name in the way (holding.lua); our place
--                                  in its line or 0; its number from 0; ms for which a free name
--                                  waits for the first in line, or -1; 1 if an ancestor holds it
--                                  in a mode that we cannot join
--         {'done', ms}              --once-per: so long ago the oldest success was granted
--         {'superseded', record}    --supersede: the record of the later claim, in line or holding
--         {'lost', which}           a hold on which the caller relies was lost: it was revoked, or
--                                   is gone and was not released
--
-- A free name is offered to the first living waiter in its line (line.lua), but an ancestor's hold
-- can be joined at any time. A claim of several names waits in all their lines; a free name stays
-- free for its first waiter while that waiter waits for another name: no claims wait in a circle.
--
-- Atomic: no other claim takes a name between look and grant. Idempotent by serial: a second call
-- finds the hold, counts nothing and sets the TTL again. All that can fail is read before the first
-- write, so an error leaves at most a token behind (missing rights: rights.lua).
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/hold.lua
-- include: parts/record.lua
-- include: parts/token.lua
-- include: parts/rights.lua
-- include: parts/free.lua
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
-- include: parts/success.lua
-- include: parts/holding.lua
-- include: parts/above.lua
-- include: parts/room.lua
-- include: parts/grant.lua
-- include: parts/revoked.lua
-- include: parts/supersede.lua
-- include: parts/waits.lua
-- include: parts/refuse.lua

-- 1. Find holds that the claim or an ancestor already has, and recent successes.
local done = once > 0 and 0  -- ms since the oldest success; false: a name has none
for i, n in ipairs(names) do
  local bad = missing_right(n)
  if bad then return bad end
  for _, key in ipairs({n.line, n.waiters}) do redis.call('ZCARD', key) end  -- error: not ours
  look_above(n)
  if not n.how and lost_above(n) then return {'lost', i - 1} end
  local ago = done and not n.how and ms_since_success(n.done)
  done = ago and ago < once and math.max(ago, done)
end

if done then  -- 2. The claim is not needed: all names have a recent success (--once-per).
  leave_lines()
  return {'done', done}
end
local newer = superseded()
if newer then return newer end

-- 3. Look for room, and choose the name to report: the first that an ancestor holds, otherwise the
-- first that is in the way.
local in_the_way
for i, n in ipairs(names) do
  if not n.how then look(n) end
  local bad = n.how == 'take' and next_token(n)
  if bad then return bad end
  local own = n.how == 'own' and not (in_the_way and names[in_the_way].how == 'own')
  if own or not in_the_way and (n.how == 'busy' or n.how == 'turn') then in_the_way = i end
end

-- 4. A name is in the way: refuse all names.
if in_the_way then return refuse(in_the_way) end

-- 5. Grant all names.
local reply = {'granted'}
for _, n in ipairs(names) do
  grant(n)
  if me ~= '' then leave(n.line, n.waiters, me) end
  -- The next waiter may have room as well.
  if is_beside(mode) then call_first(n.lock, n.tag, n.line, n.waiters) end
  reply[#reply + 1], reply[#reply + 2] = n.owner, n.record
end
return reply
