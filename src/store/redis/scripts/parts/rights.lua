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
-- Needs names.lua, modes.lua, claim.lua.
local lacking  -- the first command that this user may not run

local function need(command, ...)
  if not lacking and not redis.acl_check_cmd(command, ...) then lacking = {command, ...} end
end

local function need_all(n)
  need('TYPE', n.lock) need('TIME') need('GET', n.token) need('PTTL', n.lock)
  need('SET', n.token, '1') need('DEL', n.revoked) need('HSET', n.holds, 'f', 'v')
  need('PEXPIRE', n.lock, '1') need('HGET', n.revoked, 'f') need('HINCRBY', n.lock, 'f', '1')
  need('HDEL', n.holds, 'f') need('EXISTS', n.lock) need('HEXISTS', n.lock, 'f')
  need('HLEN', n.lock) need('HGETALL', n.holds) need('HKEYS', n.holds)
  need('ZADD', n.line, '1', 'm') need('ZADD', n.waiters, '1', 'm') need('ZREM', n.line, 'm')
  need('ZCARD', n.line) need('ZRANK', n.line, 'm') need('ZSCORE', n.line, 'm')
  need('ZRANGE', n.line, '0', '0') need('ZRANGEBYSCORE', n.waiters, '0', '0')
  if once > 0 then need('SET', n.done, '1') end
  if mode ~= 'exclusive' then need('SET', lease_key(n.tag, owner, 1), '1') end
end

local function missing_right(n)  -- an error that names it; nil: none is missing, or already in line
  if me ~= '' or not redis.acl_check_cmd then return end
  need_all(n)
  if not lacking then return end
  return redis.error_reply("NOPERM this user may not run '" .. lacking[1] .. "' on "
    .. (lacking[2] or 'this server'))
end
