-- For acquire: the most frequent claims in as few commands as possible: a plain lock of one name
-- without ancestors, where no lock or remains of one exist, and no line, or the claim is first in
-- line. The rest of acquire would do the same, and handles every other claim; also one that the
-- server refused here, and it names the missing right. This part comes before those that only the
-- rest needs, because a script creates all its functions at each call.
-- Arguments are numbers in digits: converting a number to digits costs as much as a command.
-- Needs clock.lua, hold.lua, token.lua, rights.lua.
local function take_free()
  local lock, token, holds, revoked, line, waiters = unpack(KEYS)
  local owner, serial, ttl, rest, me, asked = unpack(ARGV)
  if me == '' then
    if redis.call('EXISTS', lock, holds, revoked, line, waiters) ~= 0
      or not hold_allowed(try, lock, token, holds, revoked) then return end
  else
    if me:find('"supersede":"', 1, true) then return end  -- a later one may stand behind it
    local lives = redis.call('EXISTS', lock, holds, revoked) == 0
      and redis.call('ZRANGE', line, '0', '0')[1] == me and redis.call('ZSCORE', waiters, me)
    if not lives or tonumber(lives) < tonumber(now_digits():sub(1, -4)) then return end
  end
  -- Most often one command: it stores the token in any case. One that was no less is put back.
  local next = least_token(asked ~= '' and asked:match('token=(%d+)'))
  local before = redis.call('SET', token, next, 'KEEPTTL', 'GET')
  if before and not is_less(before, next) then
    redis.call('SET', token, before, 'KEEPTTL')
    return
  end
  keep_a_day(token, before, next)
  local record = new_record(next, now_digits():sub(1, -4), 'exclusive', nil, rest)
  redis.call('HSET', holds, id_of(owner, serial), record)
  redis.call('PEXPIRE', holds, ttl + outlast)
  redis.call('HSET', lock, owner, '1')
  redis.call('PEXPIRE', lock, ttl)
  if me ~= '' then
    redis.call('ZREM', line, me)
    redis.call('ZREM', waiters, me)
  end
  return record
end

-- "mode=" and "once=" ask for more (claim.lua).
if #KEYS == 7 and #ARGV == 8 and (ARGV[6] == '' or not ARGV[6]:find('e=', 1, true)) then
  local done, record = pcall(take_free)
  if done and record then return record end
end
