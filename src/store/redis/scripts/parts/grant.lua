-- For acquire: writes the hold of a name. The record and its TTL are written before the lock: if
-- the server refuses one of these commands, no lock without a TTL is left.
-- Needs time.lua, types.lua, modes.lua, hold.lua, records.lua, leases.lua,
-- token.lua, claim.lua.

-- Sets n.next; only reads; returns an error if the key holds no usable number.
local function next_token(n)
  n.next, n.stored = least_token(proposed), redis.call('GET', n.token)
  if not n.stored or is_less(n.stored, n.next) then return end
  local last = tonumber(n.stored)
  if not last or last < 0 or last >= endless then
    local what = ' is not a usable number'
    return redis.error_reply('ERR the fencing token at ' .. n.token .. what)
  end
  n.next = decimal(math.max(last + 1, tonumber(n.next)))
end

local function store_token(n)
  redis.call('SET', n.token, n.next, 'KEEPTTL')
  keep_a_day(n.token, n.stored, n.next)
end

local function extend(key, lasts)  -- never shortens; sets a TTL if the key has none
  if redis.call('PTTL', key) < lasts then redis.call('PEXPIRE', key, lasts) end
end

local function clear_remains(n)  -- removes what dead leases left
  n.is_new = redis.call('EXISTS', n.lock) == 0
  if n.is_new then
    redis.call('DEL', n.holds, n.revoked)
    return
  end
  if not is_hash(n.holds) then redis.call('DEL', n.holds) end
  if n.how == 'take' then  -- our own remains, in a lock that others hold
    -- Also if the lock does not count us: Redisson deletes a lock but leaves our records.
    drop_records(n.holds, {[owner] = true})
    if is_hash(n.revoked) then redis.call('HDEL', n.revoked, owner) end
  end
end

local function free_slot(n)  -- returns the lowest free slot
  local taken, all = {}, redis.call('HGETALL', n.holds)
  for i = 1, #all, 2 do
    local slot, holder = tonumber(slot_in(all[i + 1])), owner_in(all[i])
    local count = slot and holder and redis.call('HGET', n.lock, holder)
    if count and lease_left(n.tag, holder, count) then taken[slot] = true end
  end
  local slot = 0
  while taken[slot] do slot = slot + 1 end
  return slot
end

local function write_record(n)
  local slot
  if n.mode == 'slots' then
    slot = n.above_record and slot_in(n.above_record) or free_slot(n)
  end
  local token = n.next or token_in(n.above_record)
  n.record = new_record(token, now_ms_digits(), n.mode, slot, ARGV[4])
  redis.call('HSET', n.holds, id_of(n.owner, serial), n.record)
end

local function count_hold(n)  -- counts the hold in the lock's hash
  local field, count = field_of(n.owner, n.mode), 1
  if n.how == 'join' then count = redis.call('HINCRBY', n.lock, field, 1) end
  if is_beside(n.mode) then redis.call('SET', lease_key(n.tag, n.owner, count), '1', 'PX', ttl) end
  if n.how == 'take' then
    local word = n.is_new and mode_field(n.mode, slots)
    if word then redis.call('HSET', n.lock, 'mode', word) end
    redis.call('HSET', n.lock, field, 1)
  end
end

local function grant(n)  -- carries out n.how
  if n.how == 'take' then
    n.owner, n.mode = owner, mode
    store_token(n)
  end
  if n.how == 'again' then
    if is_beside(n.mode) then
      set_leases(n.tag, n.owner, redis.call('HGET', n.lock, n.owner), ttl)
    end
    -- Writes in any case: WAIT (--replicas) waits for the newest write of its connection.
    redis.call('HSET', n.holds, id_of(n.owner, serial), n.record)
    extend(n.holds, ttl + outlast)
  else
    clear_remains(n)
    write_record(n)
    extend(n.holds, ttl + outlast)
    count_hold(n)
  end
  extend(n.lock, ttl)
end
