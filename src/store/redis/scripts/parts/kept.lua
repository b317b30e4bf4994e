-- For release: --min-hold, and what else an owner leaves behind.
-- Needs names.lua, ended.lua, modes.lua, freeze.lua, records.lua, leases.lua.

-- Keeps the lock for `keep` ms without a holder: the last hold of its owner was released.
local function keep_it(lock, holds, revoked, tag, owner, mode, record, keep)
  if is_hash(revoked) then redis.call('HDEL', revoked, owner) end
  note_end(tag, record, mode)
  local kept = record:gsub('^{"token":%d+,', '%0"kept":true,', 1)
  -- Removes expired reads beside the write hold.
  if mode == 'write' then redis.call('HDEL', lock, owner) end
  if not is_beside(mode) then clear_records(holds) end
  redis.call('HSET', holds, id_of(owner, 'kept'), kept)
  if is_beside(mode) then
    redis.call('SET', lease_key(tag, owner, 1), '1', 'PX', keep)
    settle(lock, holds, tag)
  else
    redis.call('PEXPIRE', lock, keep)
  end
  keep_holds(lock, holds)
end

-- `longest`: the lease may have been the longest. The lock's key lasts as long as the longest
-- lease; and waiters may wait for a dead owner. settle() corrects both.
local function tidy_up(lock, holds, line, tag, beside, longest)
  if beside and (longest or redis.call('EXISTS', line) == 1) then settle(lock, holds, tag) end
  if redis.call('EXISTS', lock) == 0 then clear_records(holds) end
end
