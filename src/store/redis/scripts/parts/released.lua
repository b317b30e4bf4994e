-- Which holds of `dlock acquire` were released: a sorted set of the last 100 hold ids by time, for
-- a day. A shell keeps its DLOCK_HOLDS after the release, so a later run or renewal has to tell a
-- hold that was released from one that was lost: a hold that is neither on record nor in this set
-- was lost.
-- Needs time.lua, names.lua.
local function is_of_acquire(serial) return #serial == 17 and serial:sub(1, 1) == 'a' end

local function note_release(tag, id)
  local key = released_key(tag)
  redis.call('ZADD', key, decimal(now_ms()), id)
  for _, old in ipairs(redis.call('ZRANGE', key, 0, -101)) do redis.call('ZREM', key, old) end
  redis.call('PEXPIRE', key, 86400000)
end

local function was_released(tag, id)
  return type(redis.pcall('ZSCORE', released_key(tag), id)) == 'string'
end
