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
local function needed_rights(n)
  local rights = {
    {'TYPE', n.lock}, {'TIME'}, {'GET', n.token}, {'PTTL', n.lock}, {'SET', n.token, '1'},
    {'DEL', n.revoked}, {'HSET', n.holds, 'f', 'v'}, {'PEXPIRE', n.lock, '1'},
    {'HGET', n.revoked, 'f'}, {'HINCRBY', n.lock, 'f', '1'}, {'HDEL', n.holds, 'f'},
    {'EXISTS', n.lock}, {'HEXISTS', n.lock, 'f'}, {'HLEN', n.lock}, {'HGETALL', n.holds},
    {'HKEYS', n.holds},
    {'ZADD', n.line, '1', 'm'}, {'ZADD', n.waiters, '1', 'm'}, {'ZREM', n.line, 'm'},
    {'ZCARD', n.line}, {'ZRANK', n.line, 'm'}, {'ZSCORE', n.line, 'm'},
    {'ZRANGE', n.line, '0', '0'}, {'ZRANGEBYSCORE', n.waiters, '0', '0'},
  }
  if once > 0 then rights[#rights + 1] = {'SET', n.done, '1'} end
  if mode ~= 'exclusive' then rights[#rights + 1] = {'SET', lease_key(n.tag, owner, 1), '1'} end
  return rights
end

local function missing_right(n)  -- an error that names it; nil: none is missing, or already in line
  if me ~= '' or not redis.acl_check_cmd then return end
  for _, command in ipairs(needed_rights(n)) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply("NOPERM this user may not run '" .. command[1] .. "' on "
        .. (command[2] or 'this server'))
    end
  end
end
