-- Of release: the most frequent one in as few commands as it takes: of one plain lock with one
-- hold. The rest of release would do the same for it, and gets every other release.
-- Needs names.lua, modes.lua, records.lua, released.lua, line.lua.
if #KEYS == 6 and ARGV[2] == '0' and ARGV[5] == '0' and ARGV[1] ~= 'kept'
    and not is_of_acquire(ARGV[1]) then
  local lock, holds, revoked, line, waiters = unpack(KEYS)
  local owner, id = ARGV[3], id_of(ARGV[3], ARGV[1])
  local record = redis.call('HGET', holds, id)
  local others = redis.call('EXISTS', revoked, line)
  if record and mode_in(record) == 'exclusive'
      and (others == 0 or redis.call('EXISTS', revoked) == 0)
      and redis.pcall('HLEN', lock) == 1 and redis.call('HGET', lock, owner) == '1'
      and redis.call('HDEL', holds, id) == 1 then
    redis.call('DEL', lock, holds)
    local told = redis.pcall('PUBLISH', lock_channel(ARGV[4]), '0')
    if others > 0 then pcall(call_first, lock, ARGV[4], line, waiters) end
    return {{'released', type(told) == 'number' and 1 or 0}}
  end
end
