# SPDX-License-Identifier: MIT
"""Scripts with which Redisson takes and gives back a lock and a pair for readers and writers, but
without messages. Each is called with the key of the lock, a lease, an owner and the tag, and
answers yes or no."""

TAKES = {"lock": "exclusive", "read": "shared", "write": "write"}  # the mode that each one takes

SCRIPTS = {
    "lock": """
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return 'yes'
end
return 'no'""",
    "unlock": """
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 'no' end
if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
else
  redis.call('DEL', KEYS[1])
end
return 'yes'""",
    "read": """
local mode = redis.call('HGET', KEYS[1], 'mode')
local leases = ARGV[3] .. ':' .. ARGV[2] .. ':rwlock_timeout:'
if not mode then
  redis.call('HSET', KEYS[1], 'mode', 'read')
  redis.call('HSET', KEYS[1], ARGV[2], 1)
  redis.call('SET', leases .. '1', '1', 'PX', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return 'yes'
elseif mode == 'read'
  or mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[2] .. ':write') == 1 then
  local i = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('SET', leases .. i, '1', 'PX', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[1])))
  return 'yes'
end
return 'no'""",
    "unread": """
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 'no' end
local count = redis.call('HINCRBY', KEYS[1], ARGV[2], -1)
if count == 0 then redis.call('HDEL', KEYS[1], ARGV[2]) end
redis.call('DEL', ARGV[3] .. ':' .. ARGV[2] .. ':rwlock_timeout:' .. (count + 1))
if redis.call('HLEN', KEYS[1]) > 1 then
  local longest = -3
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    for j = tonumber(redis.call('HGET', KEYS[1], field)) or 0, 1, -1 do
      local lease = ARGV[3] .. ':' .. field .. ':rwlock_timeout:' .. j
      longest = math.max(longest, redis.call('PTTL', lease))
    end
  end
  if longest > 0 then redis.call('PEXPIRE', KEYS[1], longest) return 'yes' end
  if mode == 'write' then return 'yes' end
end
redis.call('DEL', KEYS[1])
return 'yes'""",
    "write": """
local mode, own = redis.call('HGET', KEYS[1], 'mode'), ARGV[2] .. ':write'
if not mode then
  redis.call('HSET', KEYS[1], 'mode', 'write')
  redis.call('HSET', KEYS[1], own, 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return 'yes'
elseif mode == 'write' and redis.call('HEXISTS', KEYS[1], own) == 1 then
  redis.call('HINCRBY', KEYS[1], own, 1)
  redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + ARGV[1])
  return 'yes'
end
return 'no'""",
    "unwrite": """
local own = ARGV[2] .. ':write'
if redis.call('HGET', KEYS[1], 'mode') ~= 'write'
  or redis.call('HEXISTS', KEYS[1], own) == 0 then return 'no' end
if redis.call('HINCRBY', KEYS[1], own, -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
else
  redis.call('HDEL', KEYS[1], own)
  if redis.call('HLEN', KEYS[1]) == 1 then
    redis.call('DEL', KEYS[1])
  else
    redis.call('HSET', KEYS[1], 'mode', 'read')
  end
end
return 'yes'""",
}
