-- The newest success of a name (--once-per): a string key with the time of its grant in ms. The
-- grant counts, because the next tick of a timer comes one interval after the start.
-- Needs time.lua, types.lua.
local function ms_since_success(done)  -- nil: no success is remembered
  local since = tonumber(text_at(done))
  return since and math.max(now_ms() - since, 0)
end

-- Remembers the success of this record for so many ms from its grant.
local function note_success(done, record, remember_ms)
  local since = tonumber(record:match('"since_ms":(%d+)') or '0')
  local left = remember_ms - (now_ms() - since)
  left = math.max(left, redis.call('PTTL', done))
  -- A success that was granted later may be stored.
  since = math.max(since, tonumber(text_at(done)) or 0)
  if left > 0 then redis.call('SET', done, decimal(since), 'PX', left) end
end
