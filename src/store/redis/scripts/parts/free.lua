-- For acquire: the most frequent claims in as few commands as possible: a plain lock of one name
-- without ancestors, where no lock or remains of one exist, and no line, or the claim is first in
-- line. The rest of acquire would do the same, and handles every other claim; also one that the
-- server refused here, and it names the missing right. This part comes before those that only the
-- rest needs, because a script creates all its functions at each call.
-- Arguments are numbers in digits: converting a number to digits costs as much as a command.
-- Needs time.lua, hold.lua, waiter.lua, claim.lua, token.lua, rights.lua.
local function is_free(n)
  if me == '' then
    return redis.call('EXISTS', n.lock, n.holds, n.revoked, n.line, n.waiters) == 0
  end
  if supersede_in(me) then return false end  -- a later one may stand behind it
  local lives = redis.call('EXISTS', n.lock, n.holds, n.revoked) == 0
    and redis.call('ZRANGE', n.line, '0', '0')[1] == me and redis.call('ZSCORE', n.waiters, me)
  return lives and tonumber(lives) >= now_ms()
end

local function take_free(n)
  if not is_free(n) then return end
  local bad = missing_right(n, hold_allowed) or take_token(n)
  if bad then return bad end
  local record = new_record(n.next, now_ms_digits(), mode, nil, ARGV[4])
  redis.call('HSET', n.holds, id_of(owner, serial), record)
  redis.call('PEXPIRE', n.holds, decimal(ttl + outlast))
  redis.call('HSET', n.lock, owner, '1')
  redis.call('PEXPIRE', n.lock, ARGV[3])
  if me ~= '' then leave(n.line, n.waiters, me) end
  return {'granted', owner, record}
end

local only = #KEYS == 7 and name_at(1, ARGV[11])  -- the claim's only name; claimed.lua uses it too

if only and #ARGV == 12 and mode == 'exclusive' and once == 0 then
  local done, reply = pcall(take_free, only)
  if done and reply then return reply end
end
