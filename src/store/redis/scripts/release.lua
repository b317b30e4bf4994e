-- release: releases the holds of one run; the last hold of a lock frees the lock.
--
-- KEYS  for each name: lock, holds, revoked, line, waiters, done
-- ARGV  1 serial  2 if the run succeeded: for how many ms from its grant to remember it, else 0
--       3 how it ended (ended.lua), or ''  4 for how many ms to remember that
--       then for each name: owner, tag, and for how many ms to keep it without a holder, or 0
-- Returns a word for each name, with blanks between them:
--         'released'     the owner has no hold left
--         'still_held'   other holds of the owner keep the lock
--         'not_held'     the hold does not exist, or no longer
--
-- Idempotent: a record exists only once. 'not_held' comes after removing the record, which is a
-- write, so a replica never says it (renew.lua). Notes and messages after a release cannot make it
-- fail.
-- include: parts/server.lua
-- include: parts/names.lua
-- include: parts/hold.lua
-- include: parts/ended.lua
-- include: parts/last.lua
-- include: parts/clock.lua
-- include: parts/time.lua
-- include: parts/released.lua
-- include: parts/types.lua
-- include: parts/modes.lua
-- include: parts/freeze.lua
-- include: parts/records.lua
-- include: parts/waiter.lua
-- include: parts/line.lua
-- include: parts/leases.lua
-- include: parts/success.lua
-- include: parts/kept.lua
-- include: parts/redisson.lua
-- include: parts/reader.lua
if last_released then
  if last_waits then pcall(call_first, KEYS[1], ARGV[6], KEYS[4], KEYS[5]) end
  if is_of_acquire(ARGV[1]) then pcall(note_release, ARGV[6], id_of(ARGV[5], ARGV[1])) end
  return 'released'
end

local serial, tell = ARGV[1], tonumber(ARGV[2])
local function release(n, owner, tag, keep)
  local lock, holds, revoked, line, waiters, done = unpack(n)
  -- 1. Remove its record: was the hold there?
  local id = id_of(owner, serial)
  if serial == 'kept' then return 'not_held' end
  local record = redis.call('HGET', holds, id)
  local known = redis.call('HDEL', holds, id)
  if known == 0 or not is_hash(lock) then return 'not_held' end
  local mode = mode_in(record)
  local field, now = field_of(owner, mode), mode_of(lock)
  local count = redis.call('HGET', lock, field)
  if not count then return 'not_held' end
  local lasted, ours = redis.call('PTTL', lock), is_beside(now) and lease_left(tag, owner, count)
  local over = is_beside(now) and not ours
  if tell > 0 and not over then note_success(done, record, tell) end

  -- 2. Keep the lock, or count the hold.
  local reads_on = mode == 'write' and lease_left(tag, owner, redis.call('HGET', lock, owner))
  local kept = keep > 0 and keep >= (freeze_of(holds) or 0)  -- a longer freeze keeps the lock
  if tonumber(count) <= 1 and kept and not over and not reads_on then
    keep_it(lock, holds, revoked, tag, owner, mode, record, keep)
    tell_redisson(lock, tag, mode, lasted)
    return 'released'
  end
  local left = redis.call('HINCRBY', lock, field, -1)
  if is_beside(mode) then drop_lease(tag, owner, left) end
  if left > 0 and not over then return 'still_held' end

  -- 3. It was the owner's last hold: the owner leaves the lock.
  redis.call('HDEL', lock, field)  -- a plain lock's key disappears with its last field
  if over then drop_records(holds, {[owner] = true}) end
  if mode == 'write' and redis.call('HGET', lock, owner) then
    return go_on_reading(lock, holds, line, waiters, owner, tag)
  end
  if mode == 'shared' and now == 'write' then return 'still_held' end
  if is_hash(revoked) then redis.call('HDEL', revoked, owner) end
  if now ~= 'exclusive' and redis.call('HLEN', lock) == 1 then redis.call('DEL', lock) end
  tidy_up(lock, holds, line, tag, is_beside(now), (ours or 0) + 100 >= lasted)
  if not over then
    note_end(tag, record, mode)
    keep_frozen(lock, holds, owner)
  end

  -- 4. Tell the waiters.
  tell_redisson(lock, tag, mode, lasted)
  pcall(call_first, lock, tag, line, waiters)
  return over and 'not_held' or 'released'
end

local replies = {}
for i = 5, #ARGV, 3 do
  local owner, tag = ARGV[i], ARGV[i + 1]
  local reply = release({unpack(KEYS, 2 * i - 9, 2 * i - 4)}, owner, tag, tonumber(ARGV[i + 2]))
  if reply ~= 'not_held' and is_of_acquire(serial) then
    pcall(note_release, tag, id_of(owner, serial))
  end
  replies[#replies + 1] = reply
end
return table.concat(replies, ' ')
