-- holding(lock, holds, revoked, tag, line, wanted): the state of a name, as
--   {type, pttl in ms, now in ms, number of owners, {owner, count, its own lease in ms or -1, ...},
--    {hold id, record, ...}, revoked by, number of waiters (0 without `line`), mode, slots,
--    {ms left, record}}  the freeze of the name, or nothing
-- pttl is the time until the next lease ends and makes room: for a claim of mode `wanted`, or
-- without it for one more owner like the present ones. Dead owners beside others are left out. The
-- reply is bounded: at most 64 owners and 64 records, and long texts are cut.
-- Needs time.lua, types.lua, modes.lua, freeze.lua, records.lua, leases.lua.

-- Returns the living owners of a hash for the reply; then the number of dead owners, the shortest
-- and the longest lease, and the number of fields that count no owner.
local function living_owners(fields, mode, lock, tag)
  local owners, dead, least, most, no_owner = {}, 0, nil, nil, 0
  for i = 1, #fields, 2 do
    local owner, left = fields[i], -1
    if is_beside(mode) and owner ~= 'mode' then
      left = lease_left(tag, owner, fields[i + 1])
      if left then
        least, most = math.min(least or left, left), math.max(most or left, left)
      else
        dead = dead + 1
      end
    end
    local inner = mode == 'write' and redis.call('HGET', lock, owner .. ':write')
    if mode == 'write' then owner = owner:gsub(':write$', '') end
    if inner or owner == 'mode' and mode ~= 'exclusive' then
      no_owner = no_owner + 1
    elseif left and #owners < 192 then
      owners[#owners + 1] = owner
      owners[#owners + 1] = fields[i + 1]:sub(1, 128)
      owners[#owners + 1] = left
    end
  end
  return owners, dead, least, most, no_owner
end

local function records_of(known, holds)
  local records = {}
  if not is_hash(holds) or redis.call('HLEN', holds) > 4096 then return records end
  local all = redis.call('HGETALL', holds)
  for i = 1, #all, 2 do
    if known[owner_in(all[i])] and #records < 128 then
      records[#records + 1] = all[i]:sub(1, 256)
      records[#records + 1] = all[i + 1]:sub(1, 4096)
    end
  end
  return records
end

-- Returns who revoked; if several owners are revoked, who revoked the first of them by name.
local function revoker_of(known, revoked)
  local first, by = nil, ''
  for owner in pairs(is_hash(revoked) and known or {}) do
    local one = redis.call('HGET', revoked, owner)
    if one and (not first or owner < first) then first, by = owner, one end
  end
  return by:sub(1, 256)
end

local function holding(lock, holds, revoked, tag, line, wanted)
  local kind = type_of(lock)
  local left, _, record = freeze_of(holds)
  local reply = {kind, redis.call('PTTL', lock), now_ms(), 0, {}, {}, '',
    line and redis.call('ZCARD', line) or 0, 'exclusive', 0,
    left and {left, record:sub(1, 4096)} or {}}
  if kind ~= 'hash' then return reply end
  local mode, slots = mode_of(lock)
  local size = redis.call('HLEN', lock)
  local fields = size <= 1100 and redis.call('HGETALL', lock) or {}
  local owners, dead, least, most, no_owner = living_owners(fields, mode, lock, tag)
  if #fields == 0 and mode ~= 'exclusive' then no_owner = 1 end
  size = size - no_owner
  if is_beside(mode) and #fields > 0 then
    if dead < size then
      local one_is_enough = mode == 'slots' and (wanted or mode) == mode
      reply[2] = math.min(one_is_enough and least or most, endless)
    elseif reply[2] == -1 then  -- a lock that never expires: a hash of another program
      dead = 0
    else
      reply[1], reply[2] = 'none', -2
      return reply
    end
  end
  local known = {}
  for i = 1, #owners, 3 do
    known[owners[i]] = true
    owners[i] = owners[i]:sub(1, 128)
  end
  reply[4], reply[5], reply[9], reply[10] = size - dead, owners, mode, slots
  reply[6], reply[7] = records_of(known, holds), revoker_of(known, revoked)
  return reply
end
