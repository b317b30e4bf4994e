-- acquire: takes a free lock, repeats a grant whose answer was lost, or joins an ancestor's hold.
--
-- KEYS  1 lock   2 token   3 holds   4 revoked   5 line   6 waiters
-- ARGV  1 owner  2 serial  3 ttl in ms  4 record without its first brace
--       5 who we are in line, or '': then we do not stand in it   6 stand only if fewer do, or ''
--       7 channel of turns, to which the id of a waiter is appended
--       8, 9 ... owner and serial of the ancestors' holds, the nearest first
-- Returns {'granted', owner, record}           a new hold, or the same one again
--         {'nested', owner, record}            a hold beside the ancestor's
--         {'busy', {holding}, place}           see holding.lua; the lock was not changed. Our place
--                                              in line, 0 if we have none. If the lock is free, the
--                                              pttl is what the first has left of its turn
--
-- A free lock is for the first who lives in line (see line.lua); an ancestor's hold is joined past it.
--
-- Atomic, because between looking and taking another could take. Idempotent by serial: a second run
-- finds the hold, counts nothing and sets the TTL again. All that can fail is read before the first
-- write, so an error leaves nothing behind; and whoever may not renew and release is told so here,
-- before there is a lock.
-- include: holding.lua
-- include: line.lua
local lock, token_key, holds, revoked, line, waiters = unpack(KEYS)
local me, most, turn, first_ancestor = ARGV[5], tonumber(ARGV[6]), ARGV[7], 8
local owner, serial, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- Redis >= 7 can be asked. PUBLISH is not among them: without it waiters poll.
for _, command in ipairs(redis.acl_check_cmd and {
  {'TYPE', lock}, {'TIME'}, {'GET', token_key}, {'PTTL', lock}, {'SET', token_key, '1'},
  {'DEL', revoked}, {'HSET', holds, 'f', 'v'}, {'PEXPIRE', lock, '1'}, {'HEXISTS', lock, 'f'},
  {'HGET', revoked, 'f'}, {'HINCRBY', lock, 'f', '1'}, {'HDEL', holds, 'f'}, {'EXISTS', lock},
  {'HLEN', lock}, {'HGETALL', holds}, {'ZADD', line, '1', 'm'}, {'ZADD', waiters, '1', 'm'},
  {'ZREM', line, 'm'}, {'ZCARD', line}, {'ZRANK', line, 'm'}, {'ZSCORE', line, 'm'},
  {'ZRANGE', line, '0', '0'}, {'ZRANGEBYSCORE', waiters, '0', '0'},
} or {}) do
  if not redis.acl_check_cmd(unpack(command)) then
    return redis.error_reply("NOPERM this user may not run '" .. command[1] .. "' on "
      .. (command[2] or 'this server'))
  end
end

local function extend(key)  -- never shortens; a key that lost its TTL gets one
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end

local function record(token)
  local time = redis.call('TIME')
  local since = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  return '{"token":' .. token .. ',"since_ms":' .. since .. ',' .. ARGV[4]
end

local function next_token()
  local stored = redis.call('GET', token_key)
  local last = tonumber(stored or '0')
  if not last or last < 0 or last >= 9007199254740991 then
    local text = 'ERR the fencing token at ' .. token_key .. ' is not a number to count on'
    return nil, redis.error_reply(text)
  end
  local time = redis.call('TIME')
  local token = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
  if stored and redis.call('PTTL', token_key) == -1 then
    redis.call('SET', token_key, token)  -- Java's RFencedLock made it, without a TTL: leave it so
  else
    redis.call('SET', token_key, token, 'PX', 86400000)
  end
  return token
end

local kind = redis.call('TYPE', lock)['ok']
if kind == 'none' and may_take(line, waiters, me, turn) then
  local token, bad = next_token()
  if bad then return bad end
  local mine = record(token)
  redis.call('DEL', holds, revoked)  -- what a dead lease left
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, ttl)
  redis.call('HSET', holds, owner .. '#' .. serial, mine)
  redis.call('PEXPIRE', holds, ttl)
  if me ~= '' then leave(line, waiters, me) end
  return {'granted', owner, mine}
end

if kind == 'hash' and redis.call('TYPE', holds)['ok'] == 'hash' then
  local refused = redis.call('TYPE', revoked)['ok'] == 'hash'
    and redis.call('HGET', revoked, 'owner')
  local function usable(whose)
    return whose ~= refused and redis.call('HEXISTS', lock, whose) == 1
  end

  local again = {owner}
  for i = first_ancestor, #ARGV, 2 do again[#again + 1] = ARGV[i] end
  for i, whose in ipairs(again) do
    local mine = usable(whose) and redis.call('HGET', holds, whose .. '#' .. serial)
    if mine then
      extend(lock)
      extend(holds)
      if me ~= '' then leave(line, waiters, me) end
      return {i == 1 and 'granted' or 'nested', whose, mine}
    end
  end

  for i = first_ancestor, #ARGV, 2 do
    local above = usable(ARGV[i]) and redis.call('HGET', holds, ARGV[i] .. '#' .. ARGV[i + 1])
    local token = above and above:match('^{"token":(%d+)')
    if token then
      local mine = record(token)
      redis.call('HINCRBY', lock, ARGV[i], 1)
      redis.call('HSET', holds, ARGV[i] .. '#' .. serial, mine)
      extend(lock)
      extend(holds)
      if me ~= '' then leave(line, waiters, me) end
      return {'nested', ARGV[i], mine}
    end
  end
end

local place = 0
if redis.call('EXISTS', line) == 1 then prune(line, waiters, line_now()) end
if me ~= '' and stand(line, waiters, me, most) then place = redis.call('ZRANK', line, me) + 1 end
local reply = holding(lock, holds, revoked, line)
if kind == 'none' then  -- the turn of the first
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  local ends = tonumber(first and redis.call('ZSCORE', waiters, first) or '0')
  reply[2] = math.max(ends - line_now(), 0)
end
return {'busy', reply, place}
