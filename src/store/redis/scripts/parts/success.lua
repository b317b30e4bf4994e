-- The newest success of a name (--once-per): a string key with the time of its grant, in ms. It
-- counts from the grant, because the next tick of a timer comes one interval after the start.
-- Needs time.lua, types.lua.
local function ms_since_success(done)  -- nil: none is remembered
  local since = tonumber(text_at(done))
  return since and math.max(now_ms() - since, 0)
end

local function note_success(done, record, remember_ms)  -- for so long from the grant
  local since = tonumber(record:match('"since_ms":(%d+)') or '0')
  local left = remember_ms - (now_ms() - since)
  left = math.max(left, redis.call('PTTL', done))
  since = math.max(since, tonumber(text_at(done)) or 0)  -- it may have begun before
  if left > 0 then redis.call('SET', done, decimal(since), 'PX', left) end
end
