-- The holds of `dlock acquire` that were released: a sorted set of the last 100 hold ids by time,
-- kept for a day. A shell keeps its DLOCK_HOLDS after the release, so a later run or renewal must
-- tell a released hold from a lost one: a hold that has no record and is not in this set was lost.
-- Needs time.lua, names.lua.
local function is_of_acquire(serial) return #serial == 17 and serial:sub(1, 1) == 'a' end

local function note_release(tag, id)
  local key = released_of .. tag
  redis.call('ZADD', key, decimal(now_ms()), id)
  for _, old in ipairs(redis.call('ZRANGE', key, 0, -101)) do redis.call('ZREM', key, old) end
  redis.call('PEXPIRE', key, 86400000)
end

local function was_released(tag, id)
  return type(redis.pcall('ZSCORE', released_of .. tag, id)) == 'string'
end
