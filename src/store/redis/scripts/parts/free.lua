-- For acquire: the most frequent claims in as few commands as possible: a plain lock of one name
-- without ancestors, where no lock or remains of one exist, and no line, or the claim is first in
-- line. The rest of acquire would do the same, and handles every other claim; also one that the
-- server refused here, and it names the missing right. This part comes before those that only the
-- rest needs, because a script creates all its functions at each call.
-- Arguments are numbers in digits: converting a number to digits costs as much as a command.
-- Needs clock.lua, hold.lua, token.lua, rights.lua.
local function is_free(lock, token, holds, revoked, line, waiters)
  local me = ARGV[5]
  if me == '' then
    return redis.call('EXISTS', lock, holds, revoked, line, waiters) == 0
      and hold_allowed(redis.acl_check_cmd or try, lock, token, holds, revoked)
  end
  if me:find('"supersede":"', 1, true) then return false end  -- a later one may stand behind it
  local lives = redis.call('EXISTS', lock, holds, revoked) == 0
    and redis.call('ZRANGE', line, '0', '0')[1] == me and redis.call('ZSCORE', waiters, me)
  return lives and tonumber(lives) >= tonumber(now_digits():sub(1, -4))
end

local function take_free()
  local lock, token, holds, revoked, line, waiters = unpack(KEYS)
  if not is_free(lock, token, holds, revoked, line, waiters) then return end
  local owner, serial, ttl, rest, me = unpack(ARGV)
  -- Most often one command: it stores the token in any case. One that was no less is put back.
  local next = least_token(ARGV[10])
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
  return {'granted', owner, record}
end

if #KEYS == 7 and #ARGV == 12 and ARGV[7] == 'exclusive' and ARGV[9] == '0' then
  local done, reply = pcall(take_free)
  if done and reply then return reply end
end
