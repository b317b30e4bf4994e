-- For acquire: checks the access rights that the grant and later renewal, release and waiting need.
--
-- Rights are checked once per claim, at its first try, before it is in line: a run must not start,
-- or wait for an hour, if it could not renew and release. The script uses some of these rights
-- anyway, but Redis 7.0 does not name the command that it refuses, and the error made here does.
-- A free name is granted (free.lua) with a check of what its hold needs; a right that only a waiter
-- needs is checked when the claim has to wait. EVAL is needed later if the server has lost its
-- scripts. PUBLISH is not checked: waiters poll without it.
-- Redis 6.2 cannot check rights, so each command is tried there with arguments that change nothing.
-- (EVAL cannot be tried: a script may not call it.) After a script's first write, even one that
-- changes nothing, Redis no longer checks its memory, so OOM is an error here.
--
-- KeyDB, which has the scripts of 6.2, is asked for its role there: an active replica accepts
-- writes beside other masters, and two grants would merge into one lock. Without the right to INFO
-- it is not detected.
--
-- If a right is withdrawn while the claim waits, its first use fails. If the grant needs it, the
-- server refuses the grant, and no lock without a TTL is left (grant.lua). If only renewal or
-- release need it, they fail, and the lease ends by itself.
-- Needs names.lua, claim.lua.
local out_of_memory  -- the error of a server that is out of memory

-- Tries a call without effect, where rights cannot be checked.
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  local error = type(reply) == 'table' and reply.err or ''
  local oom = error:find('OOM', 1, true)
  out_of_memory = oom and redis.error_reply(error:sub(oom))
  return not oom and not error:find('The user executing the script', 1, true)
end

-- Returns whether all calls are allowed that renew and release a plain hold. With these arguments
-- they change nothing: no name contains a line feed, so no key does.
local function hold_allowed(may, n)
  return (redis.acl_check_cmd or may('SET', n.token, '1', 'PX', '0'))  -- first because of OOM
    and may('TYPE', n.lock) and may('PTTL', n.lock) and may('DEL', n.revoked .. '\n')
    and may('HSET', n.holds, 'f', 'v', 'f') and may('PEXPIRE', n.lock, 'x')
    and may('HGET', n.revoked, 'f') and may('HINCRBY', n.lock, 'f', 'x')
    and may('HDEL', n.holds, 'f') and may('HEXISTS', n.lock, 'f') and may('HGETALL', n.holds)
    and (not redis.acl_check_cmd or may('EVAL', '', '0'))
end

-- The same, of everything that a claim may need.
local function all_allowed(may, n)
  return hold_allowed(may, n) and may('SET', n.token, '1', 'PX', '0') and may('TIME')
    and may('GET', n.token) and may('EXISTS', n.lock) and may('HLEN', n.lock)
    and may('HKEYS', n.holds)
    and may('ZADD', n.line, 'x', 'm') and may('ZADD', n.waiters, 'x', 'm')
    and may('ZREM', n.line, 'm') and may('ZCARD', n.line) and may('ZRANK', n.line, 'm')
    and may('ZSCORE', n.line, 'm') and may('ZRANGE', n.line, '0', '0')
    and may('ZRANGEBYSCORE', n.waiters, '0', '0')
    and (once == 0 or may('SET', n.done, '1', 'PX', '0'))
    and (mode == 'exclusive' or may('SET', lease_key(n.tag, owner, 1), '1', 'PX', '0'))
end

-- Returns an error that names the right; nil: all are granted, or the claim is already in line.
-- `allowed` is one of the two functions above.
local function missing_right(n, allowed)
  if me ~= '' then return end
  local ask = redis.acl_check_cmd
  if allowed(ask or try, n) then
    local role = not ask and redis.pcall('INFO', 'replication')
    if type(role) ~= 'string' or not role:find('role:active-replica', 1, true) then return end
    return redis.error_reply('MULTIMASTER this KeyDB accepts writes on several masters at once')
  end
  local command, key
  allowed(function(...)  -- again, up to the first missing right
    command, key = ...
    return (ask or try)(...)
  end, n)
  local on = key and key ~= '' and key or 'this server'
  return out_of_memory
    or redis.error_reply("NOPERM this user may not run '" .. command .. "' on " .. on)
end
