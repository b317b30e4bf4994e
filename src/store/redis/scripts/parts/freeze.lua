-- A freeze (dlock freeze): the field 'frozen' of the records, as "<until in ms> <owner> <record>".
-- While it lasts, only runs below a present holder are granted the name. When no other lock exists,
-- the name is kept with this record (hold.lua, 'kept'), so that Java finds it held, too; for the
-- owner that released it last, or the freeze's own. Such a record has the token 0.
-- Needs time.lua, types.lua, hold.lua.
local function freeze_of(holds)  -- returns its ms left, its owner and its record; nil: no freeze
  local text = redis.pcall('HGET', holds, 'frozen')
  if type(text) ~= 'string' then return end
  local until_ms, owner, record = text:match('^(%d+) (%S+) (.*)$')
  local left = until_ms and tonumber(until_ms) - now_ms()
  if left and left > 0 then return left, owner, record end
end

-- Removes all records, but not a freeze.
local function clear_records(holds)
  local left = freeze_of(holds)
  local text = left and redis.call('HGET', holds, 'frozen')
  redis.call('DEL', holds)
  if not left then return end
  redis.call('HSET', holds, 'frozen', text)
  redis.call('PEXPIRE', holds, decimal(left + outlast))
end

-- Keeps a frozen name that has no lock, in place of the records of the lock that it had.
local function keep_frozen(lock, holds, owner)
  local left, its_owner, record = freeze_of(holds)
  if not left or redis.call('EXISTS', lock) == 1 then return end
  clear_records(holds)
  owner = owner or its_owner
  redis.call('HSET', holds, id_of(owner, 'kept'), record)
  redis.call('HSET', lock, owner, '1')
  redis.call('PEXPIRE', lock, decimal(left))
end

-- Ends a freeze, but tells no waiter. Returns its ms left and its record; nil: there was none.
local function end_freeze(lock, holds)
  local left, _, record = freeze_of(holds)
  if not is_hash(holds) then return end
  redis.call('HDEL', holds, 'frozen')
  local all = redis.call('HGETALL', holds)
  for i = 1, #all, 2 do
    local owner = all[i]:match('^(.*)#kept$')
    if owner and all[i + 1]:find('^{"token":0,') then
      redis.call('HDEL', holds, all[i])
      -- Another program may have taken the name since the freeze ended, or its key was deleted.
      local counts = is_hash(lock) and redis.call('HGETALL', lock) or {}
      if #counts == 2 and counts[1] == owner then redis.call('DEL', lock, holds) end
    end
  end
  return left, record
end
