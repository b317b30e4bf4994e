-- Of acquire: the most frequent claims in as few commands as they take: a plain lock of one name,
-- without an ancestor; neither a lock nor remains of one; and no line, or the claim is the first in
-- it. The rest of acquire would do the same for them, and gets every other claim.
-- Needs records.lua, token.lua, line.lua, claim.lua, rights.lua.
local function is_free(n)
  if me == '' then
    return redis.call('EXISTS', n.lock, n.holds, n.revoked, n.line, n.waiters) == 0
  end
  return redis.call('EXISTS', n.lock, n.holds, n.revoked) == 0
    and redis.call('ZRANGE', n.line, 0, 0)[1] == me and redis.call('ZSCORE', n.waiters, me)
end

local function take_free(n)
  local bad = next_token(n)
  if bad then return bad end
  store_token(n)
  local record = new_record(n.next, mode, nil, ARGV[4])
  redis.call('HSET', n.holds, id_of(owner, serial), record)
  redis.call('PEXPIRE', n.holds, ttl)
  redis.call('HSET', n.lock, owner, 1)
  redis.call('PEXPIRE', n.lock, ttl)
  if me ~= '' then leave(n.line, n.waiters, me) end
  return {'granted', owner, record}
end

if #names == 1 and #names[1].above == 0 and not next(relied_on) and mode == 'exclusive'
    and once == 0 then
  local bad = missing_right(names[1])
  if bad then return bad end
  if is_free(names[1]) then return take_free(names[1]) end
end
