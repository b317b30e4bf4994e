-- For release: the most frequent release, of a plain lock with one hold, in few commands. The rest
-- of release would do the same (but leave a key of another type at `revoked` to the next acquire),
-- and handles every other release. This part comes before those that only the rest needs, because a
-- script creates all its functions at each call.
-- Needs server.lua, names.lua, hold.lua, ended.lua.
-- Whether this part has made the release, and more is to be done; whether the line has a waiter.
local last_released, last_waits = false, false

if #KEYS == 6 and ARGV[2] == '0' and ARGV[7] == '0' and ARGV[1] ~= 'kept' then
  local lock, holds, revoked, line = unpack(KEYS)
  local owner, tag = ARGV[5], ARGV[6]
  local counts = redis.pcall('HGETALL', lock)  -- a hash with one field has no mode
  local is_ours = #counts == 2 and counts[1] == owner and counts[2] == '1'
  local records = is_ours and redis.call('HGETALL', holds) or {}
  -- With a second record, the name may be frozen.
  if #records == 2 and records[1] == id_of(owner, ARGV[1]) then
    redis.call('DEL', lock, holds, revoked)
    note_end(tag, records[2], 'exclusive')
    redis.pcall(publish, lock_channel_of .. tag, '0')
    -- The serial of `dlock acquire` is longer: the release of its holds is noted (released.lua).
    last_released, last_waits = true, redis.pcall('EXISTS', line) ~= 0
    if not last_waits and #ARGV[1] == 16 then return 'released' end
  end
end
