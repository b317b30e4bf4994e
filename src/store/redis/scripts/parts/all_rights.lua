-- For acquire: the rights of every claim but those of free.lua.
-- Needs claim.lua, rights.lua, leases.lua.

-- Returns whether all calls are allowed that a claim may need.
local function all_allowed(may, n)
  return hold_allowed(may, n.lock, n.token, n.holds, n.revoked)
    and may('SET', n.token) and may('TIME') and may('GET', n.token) and may('EXISTS', n.lock)
    and may('HSET', n.holds)
    and may('HLEN', n.lock) and may('HKEYS', n.holds)
    and may('ZADD', n.line) and may('ZADD', n.waiters) and may('ZREM', n.line)
    and may('ZCARD', n.line) and may('ZRANK', n.line) and may('ZSCORE', n.line)
    and may('ZRANGE', n.line) and may('ZRANGEBYSCORE', n.waiters)
    and (once == 0 or may('SET', n.done))
    and (mode == 'exclusive' or may('SET', lease_key(n.tag, owner, 1)))
end

-- Returns an error that names the right; nil: all are granted, or the claim is already in line.
local function missing_right(n)
  if me ~= '' then return end
  local command, key
  local function may(...)
    command, key = ...
    return try(...)
  end
  if all_allowed(may, n) then return end
  local on = key and key ~= '' and key or 'this server'
  return refusal
    or redis.error_reply("NOPERM this user may not run '" .. command .. "' on " .. on)
end
