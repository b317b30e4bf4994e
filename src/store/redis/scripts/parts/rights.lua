-- For acquire: checks the access rights that the grant and later renewal, release and waiting need.
--
-- Rights are checked once per claim, at its first try, before it is in line: a run must not start,
-- or wait for an hour, if it could not renew and release. The script uses some of these rights
-- anyway, but Redis 7.0 does not name the command that it refuses, and all_rights.lua does.
-- A free name is granted (free.lua) with a check of what its hold needs, unless the grant itself
-- uses the right: without that to HSET only a token remains. A right that only a waiter needs is
-- checked when the claim has to wait. EVAL is needed later if the server has lost its scripts.
-- PUBLISH is not checked: waiters poll without it.
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
local refusal   -- the error of a server that is out of memory, or has several masters
local harmless  -- the arguments of a trial behind the key, by command

-- Returns whether the call is allowed: asks or, where rights cannot be checked, tries it. No name
-- contains a line feed, so no key does.
local try = redis.acl_check_cmd or function(command, key)
  harmless = harmless or {
    SET = {'1', 'PX', '0'}, HSET = {'f', 'v', 'f'}, PEXPIRE = {'x'}, HGET = {'f'},
    HINCRBY = {'f', 'x'}, HDEL = {'f'}, ZADD = {'x', 'm'}, ZREM = {'m'},
    ZRANK = {'m'}, ZSCORE = {'m'}, ZRANGE = {'0', '0'}, ZRANGEBYSCORE = {'0', '0'}}
  if command == 'EVAL' then return true end
  if command == 'DEL' then key = key .. '\n' end
  local reply = redis.pcall(command, key, unpack(harmless[command] or {}))
  if command == 'INFO' then
    local several = type(reply) == 'string' and reply:find('role:active-replica', 1, true)
    refusal = several and redis.error_reply(
      'MULTIMASTER this KeyDB accepts writes on several masters at once')
    return not several
  end
  local error = type(reply) == 'table' and reply.err or ''
  local oom = error:find('OOM', 1, true)
  refusal = oom and redis.error_reply(error:sub(oom))
  return not oom and not error:find('The user executing the script', 1, true)
end

-- Returns whether all calls are allowed that renew and release a plain hold, but for those that
-- free.lua makes, too: EXISTS, TIME, SET and HSET.
local function hold_allowed(may, lock, token, holds, revoked)
  return (redis.acl_check_cmd or may('SET', token) and may('INFO', 'replication'))  -- first: OOM
    and may('TYPE', lock) and may('PTTL', lock) and may('DEL', revoked) and may('PEXPIRE', lock)
    and may('HGET', revoked) and may('HINCRBY', lock) and may('HDEL', holds)
    and may('HGETALL', holds)
    and may('EVAL', '', '0')
end
