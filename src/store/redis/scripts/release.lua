-- release: gives holds of one run back, and each lock with the last one.
--
-- KEYS  for each name: lock, holds, revoked, line, waiters, done
-- ARGV  1 serial  2 the run has succeeded: tell it for so many ms since its grant, or 0
--       then for each name: owner, tag, and for how many ms to keep it, held by nobody, or 0
-- Returns for each name
--         {'released', 1|0}   nothing of the owner is left; 0: the server refused to tell the waiters
--         {'still_held'}      nested holds or an ancestor keep the lock
--         {'not_held'}        nothing of ours (any more)
--
-- Idempotent: the record of the hold is there once. Its removal is a write before the first look,
-- so 'not_held' is never a replica's word (see renew.lua). A field of another is never touched.
-- That a hold of acquire was released is noted: see modes.lua.
-- include: modes.lua
-- include: line.lua
local serial, tell = ARGV[1], tonumber(ARGV[2])

local function say_done(done, record)
  local since = tonumber(record:match('"since_ms":(%d+)') or '0')
  local time = redis.call('TIME')
  local left = tell - (time[1] * 1000 + math.floor(time[2] / 1000) - since)
  left = math.max(left, redis.call('PTTL', done))
  local known = redis.call('TYPE', done)['ok'] == 'string' and redis.call('GET', done)
  since = math.max(since, tonumber(known) or 0)  -- who ends later may have begun before
  if left > 0 then redis.call('SET', done, string.format('%.0f', since), 'PX', left) end
end

-- The last hold of the owner: nobody runs under it any more.
local function keep_it(lock, holds, tag, owner, mode, record, keep)
  local kept = record:gsub('^{"token":%d+,', '%0"kept":true,', 1)
  -- What read under the writer, and is dead.
  if mode == 'write' then redis.call('HDEL', lock, owner) end
  if not is_beside(mode) then redis.call('DEL', holds) end
  redis.call('HSET', holds, owner .. '#kept', kept)
  if is_beside(mode) then
    redis.call('SET', lease_key(tag, owner, 1), '1', 'PX', keep)
    settle(lock, holds, tag)
  else
    redis.call('PEXPIRE', lock, keep)
  end
  keep_holds(lock, holds)
end

local function release(n, owner, tag, keep)
  local lock, holds, revoked, line, waiters, done = unpack(n)
  local id = owner .. '#' .. serial
  if serial == 'kept' then return {'not_held'} end
  local record = redis.call('HGET', holds, id)
  local known = redis.call('HDEL', holds, id)
  if known == 0 or redis.call('TYPE', lock)['ok'] ~= 'hash' then return {'not_held'} end
  local mode = mode_in(record)
  local field, now = field_of(owner, mode), mode_of(lock)
  local count = redis.call('HGET', lock, field)
  if not count then return {'not_held'} end
  local lasted, ours = redis.call('PTTL', lock), is_beside(now) and lease_left(tag, owner, count)
  local over = is_beside(now) and not ours
  if tell > 0 and not over then say_done(done, record) end

  local left = tonumber(count) - 1
  local reads_on = mode == 'write' and lease_left(tag, owner, redis.call('HGET', lock, owner))
  if left <= 0 and keep > 0 and not over and not reads_on then
    keep_it(lock, holds, tag, owner, mode, record, keep)
    tell_redisson(lock, tag, mode, lasted)
    return {'released', 1}
  end
  left = redis.call('HINCRBY', lock, field, -1)
  if is_beside(mode) then  -- the leases are not told apart: what is left has the longest
    local last = lease_key(tag, owner, left + 1)
    set_leases(tag, owner, left, redis.call('PTTL', last))
    redis.call('DEL', last)
  end
  if left > 0 and not over then return {'still_held'} end

  redis.call('HDEL', lock, field)  -- a plain key goes with its last field
  if over then drop_records(holds, {[owner] = true}) end
  if mode == 'write' and redis.call('HEXISTS', lock, owner) == 1 then  -- it goes on reading
    redis.call('HSET', lock, 'mode', 'read')
    settle(lock, holds, tag)  -- from now on its leases as a reader count
    redis.pcall('PUBLISH', 'redisson_rwlock:' .. tag, '1')
    pcall(call_first, lock, tag, line, waiters)
    if redis.call('HEXISTS', lock, owner) == 1 then return {'still_held'} end
    return {'released', 1}
  end
  if mode == 'shared' and now == 'write' then return {'still_held'} end
  if redis.call('TYPE', revoked)['ok'] == 'hash' then redis.call('HDEL', revoked, owner) end
  if now ~= 'exclusive' and redis.call('HLEN', lock) == 1 then redis.call('DEL', lock) end
  -- Who waits may have waited for the dead; and the key lasts as long as the longest lease, which
  -- may have been ours.
  local longest = (ours or 0) + 100 >= lasted
  if is_beside(now) and (longest or redis.call('EXISTS', line) == 1) then
    settle(lock, holds, tag)
  end
  if redis.call('EXISTS', lock) == 0 then redis.call('DEL', holds) end
  local told = tell_redisson(lock, tag, mode, lasted)
  -- The lock has been given back whatever is wrong with the line.
  pcall(call_first, lock, tag, line, waiters)
  if over then return {'not_held'} end
  return {'released', type(told) == 'number' and 1 or 0}
end

local replies = {}
for i = 3, #ARGV, 3 do
  local n = {unpack(KEYS, 2 * i - 5, 2 * i)}
  local owner, tag = ARGV[i], ARGV[i + 1]
  local reply = release(n, owner, tag, tonumber(ARGV[i + 2]))
  if reply[1] ~= 'not_held' and is_of_acquire(serial) then
    pcall(note_release, tag, owner .. '#' .. serial)  -- it has been released whatever is wrong here
  end
  replies[#replies + 1] = reply
end
return replies
