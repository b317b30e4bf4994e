-- For release: the most frequent release, of a plain lock with one hold, in few commands. The rest
-- of release would do the same (but leave a key of another type at `revoked` to the next acquire),
-- and handles every other release. This part comes before those that only the rest needs, because a
-- script creates all its functions at each call.
-- Needs server.lua, names.lua, hold.lua, released.lua.
-- If this part has made the release and more is to be done: the reply, and the first two waiters.
local last_released, last_line

if #KEYS == 6 and ARGV[2] == '0' and ARGV[5] == '0' and ARGV[1] ~= 'kept' then
  local lock, holds, revoked, line = unpack(KEYS)
  local owner = ARGV[3]
  local function is_only_record(id)  -- with a second one, the name may be frozen
    local all = redis.call('HKEYS', holds)
    return #all == 1 and all[1] == id
  end
  -- A hash with one field has no mode.
  if redis.pcall('HLEN', lock) == 1 and redis.call('HGET', lock, owner) == '1'
      and is_only_record(id_of(owner, ARGV[1])) then
    redis.call('DEL', lock, holds, revoked)
    local told = redis.pcall(publish, lock_channel(ARGV[4]), '0')
    last_released = {{'released', type(told) == 'number' and 1 or 0}}
    last_line = redis.pcall('ZRANGE', line, '0', '1')
    if #last_line == 0 and not is_of_acquire(ARGV[1]) then return last_released end
  end
end
