-- The leases of owners that hold a lock beside others: one string key for each hold, as for
-- Redisson's readers. An owner is dead when all its leases have ended, even though the hash still
-- counts its holds.
-- Needs names.lua, types.lua, modes.lua, freeze.lua, records.lua.
local function lease_key(tag, owner, i) return tag .. ':' .. owner .. lease_end .. i end

-- Returns the longest lease in ms of an owner with `count` holds; nil: the owner is dead.
local function lease_left(tag, owner, count)
  local longest
  for i = 1, math.min(tonumber(count) or 0, 1000) do
    local left = redis.call('PTTL', lease_key(tag, owner, i))
    if left == -1 then return endless end
    if left >= 0 and left > (longest or -1) then longest = left end
  end
  return longest
end

local function set_leases(tag, owner, count, ttl)  -- never shortens a lease
  for i = 1, ttl > 0 and math.min(tonumber(count) or 0, 1000) or 0 do
    local key = lease_key(tag, owner, i)
    if redis.call('PTTL', key) < ttl then redis.call('SET', key, '1', 'PX', ttl) end
  end
end

-- Removes one lease of an owner that has `left` holds left. An owner's leases belong to no
-- particular hold, so the remaining leases get the time of the removed one.
local function drop_lease(tag, owner, left)
  local last = lease_key(tag, owner, left + 1)
  set_leases(tag, owner, left, redis.call('PTTL', last))
  redis.call('DEL', last)
end

-- Returns whether the owner holds the lock (a hash) in this mode; false if the lock is only kept.
local function holds_it(lock, holds, tag, owner, mode)
  if redis.call('HGET', holds, id_of(owner, 'kept')) then return false end
  local count = redis.call('HGET', lock, field_of(owner, mode))
  if not count then return false end
  local now = mode_of(lock)
  if mode == 'shared' and now == 'write' then return true end  -- a reader below its own write hold
  if now ~= mode then return false end
  return not is_beside(mode) or lease_left(tag, owner, count) ~= nil
end

-- Returns false for another program's hash, which may have a field `mode` but has other fields than
-- counts.
local function has_only_counts(fields)
  for i = 1, #fields, 2 do
    local counts = fields[i]:find(':', 1, true) and tonumber(fields[i + 1])
    if fields[i] ~= 'mode' and not counts then return false end
  end
  return true
end

-- For a lock with several owners: removes expired owners, and sets the key's TTL to the longest
-- lease.
local function settle(lock, holds, tag)
  local longest, dead, fields = -1, {}, redis.call('HGETALL', lock)
  if not has_only_counts(fields) then return end
  local expiry = redis.call('PTTL', lock)
  if expiry < 0 then return end
  for i = 1, #fields, 2 do
    local owner = fields[i]
    if owner ~= 'mode' then
      local left = lease_left(tag, owner, fields[i + 1])
      longest = math.max(longest, left or -1)
      if not left then
        dead[owner] = true
        redis.call('HDEL', lock, owner)
      end
    end
  end
  drop_records(holds, dead)
  -- Every write invalidates the key for all clients that track it, and every waiter's try comes
  -- here: so write only if the value changes.
  local over = expiry - longest
  if redis.call('HLEN', lock) <= 1 then
    redis.call('DEL', lock)
    clear_records(holds)
  elseif longest < endless and (over < -1 or over > 20) then
    redis.call('PEXPIRE', lock, longest)
  end
end
