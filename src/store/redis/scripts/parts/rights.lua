-- Of acquire: the access rights that the grant, and later renewal, release and waiting need.
--
-- They are looked up once for each claim, at its first try, when it is not in line yet: a run must
-- not start, nor wait for an hour, if it could not renew and release. The script would use some of
-- them anyway, but Redis 7.0 does not name the command that it refuses, and this error does. Redis
-- 6 cannot be asked. PUBLISH is not in the list, because waiters poll without it.
--
-- A right that is withdrawn while the claim waits is missed when it is used. If the grant needs it,
-- the server refuses the grant, and no lock without a TTL is left (grant.lua). If only renewal or
-- release need it, these fail, and the lease ends by itself.
-- Needs names.lua, claim.lua.
local function all_allowed(may, n)
  return may('TYPE', n.lock) and may('TIME') and may('GET', n.token) and may('PTTL', n.lock)
    and may('SET', n.token) and may('DEL', n.revoked) and may('HSET', n.holds)
    and may('PEXPIRE', n.lock) and may('HGET', n.revoked) and may('HINCRBY', n.lock)
    and may('HDEL', n.holds) and may('EXISTS', n.lock) and may('HEXISTS', n.lock)
    and may('HLEN', n.lock) and may('HGETALL', n.holds) and may('HKEYS', n.holds)
    and may('ZADD', n.line) and may('ZADD', n.waiters) and may('ZREM', n.line)
    and may('ZCARD', n.line) and may('ZRANK', n.line) and may('ZSCORE', n.line)
    and may('ZRANGE', n.line) and may('ZRANGEBYSCORE', n.waiters)
    and (once == 0 or may('SET', n.done))
    and (mode == 'exclusive' or may('SET', lease_key(n.tag, owner, 1)))
end

local function missing_right(n)  -- an error that names it; nil: none is missing, or already in line
  local may = redis.acl_check_cmd
  if me ~= '' or not may or all_allowed(may, n) then return end
  local command, key
  all_allowed(function(...)  -- once more, up to the first that is missing
    command, key = ...
    return may(...)
  end, n)
  return redis.error_reply("NOPERM this user may not run '" .. command .. "' on "
    .. (key or 'this server'))
end
