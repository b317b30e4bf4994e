-- renew: extends the leases of the holds of one run to ttl from now; with ttl 0 it only checks
-- them.
--
-- KEYS  for each name: lock, holds, revoked
-- ARGV  1 serial  2 ttl in ms, or 0: only check  3 for a check: ttl of a renewed lease, or 0
--       then for each name: owner, mode, tag
--       then, for the first renewal of a run, what its records are to say of its processes
--       (record_json.hpp)
-- Returns {'renewed'}            all leases are extended
--         {'held'}               for a check: all holds are ours; changes a lease only if
--                                another program has cut it short
--         {'revoked', by, which}           all holds are ours, but one may not be renewed any more;
--                                          its lease runs to its end; which: its number from 0
--         {'lost', {holding}, which, 1|0}  a name is held by another owner, or free, or no lock;
--                                          reported before 'revoked'; 1: the hold was one of
--                                          acquire and was released
--
-- Extends all leases or none; never shortens, never creates. The first command for a hold is a
-- write: its record is removed, and put back after the lock was checked. So a replica, a server
-- without enough replicas or one with a full disk answers with an error, and 'lost' always comes
-- from a master that may write. A hold without a record gets no new record: a late copy of a
-- renewal must not bring back a released hold.
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/time.lua
-- include: parts/types.lua
-- include: parts/names.lua
-- include: parts/modes.lua
-- include: parts/hold.lua
-- include: parts/freeze.lua
-- include: parts/records.lua
-- include: parts/leases.lua
-- include: parts/released.lua
-- include: parts/holding.lua
local serial, ttl, whole = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local count = 3 + #KEYS  -- of the arguments before the last one
local processes = ARGV[count + 1]

local function with_processes(record)
  if not processes or record:find('"group":', 1, true) then return record end
  return record:sub(1, -2) .. ',' .. processes
end

-- Returns to how many ms the lease is extended now; 0: not at all. Java's watchdog sets the leases
-- of all readers to its own, shorter time. A lease that is renewed in time always has more than
-- half left, so a check that finds less repairs it.
local function wanted(lock, owner, mode, tag)
  if ttl ~= 0 or not is_beside(mode) then return ttl end
  local ours = lease_left(tag, owner, redis.call('HGET', lock, owner)) or whole
  return math.min(redis.call('PTTL', lock), ours) < whole / 2 and whole or 0
end

-- Returns nil if the hold is ours and may be renewed, otherwise the reply that says why not.
local function look(lock, holds, revoked, owner, mode, tag)
  local id = id_of(owner, serial)
  local record = serial ~= 'kept' and redis.call('HGET', holds, id)
  redis.call('HDEL', holds, record and id or '')
  local is_lock = is_hash(lock)
  if not is_lock or not holds_it(lock, holds, tag, owner, mode) then
    -- Java's pair does not see a plain hold: it would take ours for one of its readers.
    if is_lock and mode == 'exclusive' and mode_of(lock) ~= mode then
      redis.call('HDEL', lock, owner)
    end
    local released = is_of_acquire(serial) and was_released(tag, id)
    return {'lost', holding(lock, holds, revoked, tag), 0, released and 1 or 0}
  end
  if record then redis.call('HSET', holds, id, with_processes(record)) end
  keep_holds(lock, holds)  -- the key may have disappeared with its only record
  local by = is_hash(revoked) and redis.call('HGET', revoked, owner)
  return by and {'revoked', by}
end

local function extend(lock, holds, owner, mode, tag)
  local lasts = wanted(lock, owner, mode, tag)
  if lasts == 0 then return end
  if is_beside(mode) then set_leases(tag, owner, redis.call('HGET', lock, owner), lasts) end
  if redis.call('PTTL', lock) < lasts then redis.call('PEXPIRE', lock, lasts) end
  keep_holds(lock, holds)
end

local revoked
for i = 4, count, 3 do
  local owner, mode, tag = unpack(ARGV, i, i + 2)
  local trouble = look(KEYS[i - 3], KEYS[i - 2], KEYS[i - 1], owner, mode, tag)
  if trouble then trouble[3] = (i - 4) / 3 end  -- the number of the name
  if trouble and trouble[1] == 'lost' then return trouble end
  revoked = revoked or trouble
end
if revoked then return revoked end
for i = 4, count, 3 do extend(KEYS[i - 3], KEYS[i - 2], unpack(ARGV, i, i + 2)) end
return {ttl > 0 and 'renewed' or 'held'}
