-- The records of a lock: a hash from hold id to JSON. A hold id is <owner>#<serial>. The serial
-- 'kept' marks a lock that is kept without a holder (--min-hold, or a freeze): no claim joins it,
-- and no renewal finds it. The field 'frozen' is no record (freeze.lua).
-- Needs types.lua, hold.lua.
local function owner_in(id) return id:match('^(.*)#') end
local function token_in(record) return record:match('^{"token":(%d+)') end
local function slot_in(record) return record:match('"slot":(%d+)') end

-- Drops the records of all owners that are keys of this table.
local function drop_records(holds, owners)
  if not next(owners) or not is_hash(holds) then return end
  for _, id in ipairs(redis.call('HKEYS', holds)) do
    if owners[owner_in(id)] then redis.call('HDEL', holds, id) end
  end
end

local function keep_holds(lock, holds)  -- lets the records outlast the lock
  local lasts = redis.call('PTTL', lock) + outlast
  if lasts >= outlast and redis.call('PTTL', holds) < lasts then
    redis.call('PEXPIRE', holds, lasts)
  end
end
