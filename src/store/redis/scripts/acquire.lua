-- acquire: takes names that have room, all or none; repeats a grant whose answer was lost; or joins
-- an ancestor's hold.
--
-- KEYS  for each name: lock, token, holds, revoked, line, waiters, done
-- ARGV  1 owner  2 serial  3 ttl in ms  4 record without its first brace
--       5 who we are in line, or '': then we do not stand in it   6 stand only if fewer do, or ''
--       7 mode  8 number of slots, or 0  9 not wanted if a run succeeded so many ms ago, or 0
--       then for each name: tag, how many ancestors hold it, and owner and serial of their holds,
--       the nearest first; then the ids of those of them that acquire took and the caller relies on
-- Returns {'granted', owner, record, ...}  for each name: a new hold, the same one again, or one
--                                          beside the ancestor's, whose owner it has then
--         {'busy', {holding}, place, which, turn, own}
--                                  of the first name that is in the way: see holding.lua; our place
--                                  in its line, 0 if we have none; its number, from 0; ms that the
--                                  first in line has left to enter if there is room for us, else
--                                  -1; 1 if a run above us holds it in a way that we cannot join
--         {'slots', which, number}  its holders have another number of slots
--         {'done', ms}              runs that succeeded were granted so long ago, the first of them
--         {'lost', which}           a hold that the caller relies on was revoked, or is gone and was
--                                   not released
--
-- What has room is for the first who lives in line (see line.lua); an ancestor's hold is joined past
-- it. Whoever wants several names stands in all their lines at once, and a name that has room stays
-- free for its first who waits for another: so nobody waits in a circle, and nobody for ever.
--
-- Atomic, because between looking and taking another could take. Idempotent by serial: a second run
-- finds the hold, counts nothing and sets the TTL again. All that can fail is read before the first
-- write, so an error leaves nothing behind; and whoever may not renew and release is told so here,
-- before there is a lock.
-- include: modes.lua
-- include: holding.lua
-- include: line.lua
local owner, serial, ttl, me, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5], tonumber(ARGV[6])
local mode, slots, once = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local names, arg = {}, 10
for i = 1, #KEYS, 7 do
  local n = {above = {}, tag = ARGV[arg]}
  n.lock, n.token, n.holds, n.revoked, n.line, n.waiters, n.done = unpack(KEYS, i, i + 6)
  for _ = 1, tonumber(ARGV[arg + 1]) do
    n.above[#n.above + 1] = {owner = ARGV[arg + 2], serial = ARGV[arg + 3]}
    arg = arg + 2
  end
  arg = arg + 2
  names[#names + 1] = n
end
local relied_on = {}
for i = arg, #ARGV do relied_on[ARGV[i]] = true end

-- Redis >= 7 can be asked. PUBLISH is not among them: without it waiters poll.
local function refused_by_acl(n)
  local lease = mode ~= 'exclusive' and lease_key(n.tag, owner, 1)
  for _, command in ipairs(redis.acl_check_cmd and {
    {'TYPE', n.lock}, {'TIME'}, {'GET', n.token}, {'PTTL', n.lock}, {'SET', n.token, '1'},
    {'DEL', n.revoked}, {'HSET', n.holds, 'f', 'v'}, {'PEXPIRE', n.lock, '1'},
    {'HGET', n.revoked, 'f'}, {'HINCRBY', n.lock, 'f', '1'}, {'HDEL', n.holds, 'f'},
    {'EXISTS', n.lock}, {'HEXISTS', n.lock, 'f'}, {'HLEN', n.lock}, {'HGETALL', n.holds},
    {'HKEYS', n.holds},
    {'ZADD', n.line, '1', 'm'}, {'ZADD', n.waiters, '1', 'm'}, {'ZREM', n.line, 'm'},
    {'ZCARD', n.line}, {'ZRANK', n.line, 'm'}, {'ZSCORE', n.line, 'm'},
    {'ZRANGE', n.line, '0', '0'}, {'ZRANGEBYSCORE', n.waiters, '0', '0'},
    {'SET', once > 0 and n.done or n.token, '1'}, {'SET', lease or n.token, '1'},
  } or {}) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply("NOPERM this user may not run '" .. command[1] .. "' on "
        .. (command[2] or 'this server'))
    end
  end
end

local function extend(key)  -- never shortens; a key that lost its TTL gets one
  if redis.call('PTTL', key) < ttl then redis.call('PEXPIRE', key, ttl) end
end

local function next_token(n)  -- only reads
  n.stored = redis.call('GET', n.token)
  local last = tonumber(n.stored or '0')
  if not last or last < 0 or last >= 9007199254740991 then
    return redis.error_reply('ERR the fencing token at ' .. n.token .. ' is not a number to count on')
  end
  local time = redis.call('TIME')
  n.next = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
end

local function store_token(n)
  if n.stored and redis.call('PTTL', n.token) == -1 then
    redis.call('SET', n.token, n.next)  -- Java's RFencedLock made it, without a TTL: leave it so
  else
    redis.call('SET', n.token, n.next, 'PX', 86400000)
  end
end

local function record(token, how, slot)
  local time = redis.call('TIME')
  local since = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  return '{"token":' .. token .. ',"since_ms":' .. since .. ','
    .. (how == 'exclusive' and '' or '"mode":"' .. how .. '",')
    .. (slot and '"slot":' .. slot .. ',' or '') .. ARGV[4]
end

-- How we may join a hold of this kind; nil: not at all.
local function joined_as(above)
  if above == 'slots' or mode == 'slots' then
    return above == mode and 'slots' or nil
  elseif above == 'shared' then
    return mode == 'shared' and 'shared' or nil
  end
  return above == 'write' and mode == 'shared' and 'shared' or above
end

-- Finds in n.how what the name means for us: 'again' and 'join' (n.owner, n.record, n.mode), 'own',
-- or what look() finds.
local function look_above(n)
  if redis.call('TYPE', n.lock)['ok'] ~= 'hash' or redis.call('TYPE', n.holds)['ok'] ~= 'hash' then
    return
  end
  local revoked = redis.call('TYPE', n.revoked)['ok'] == 'hash'
  local function living(whose, what)  -- and whether it is to be given up
    local found = redis.call('HGET', n.holds, whose .. '#' .. what)
    if not found or not holds_it(n.lock, n.holds, n.tag, whose, mode_in(found)) then return end
    if revoked and redis.call('HEXISTS', n.revoked, whose) == 1 then return nil, true end
    return found
  end

  -- Ours already, and to be given up, or given back (a late copy): not once more beside itself.
  local count = is_beside(mode_of(n.lock)) and redis.call('HGET', n.lock, owner)
  n.given_up = count and lease_left(n.tag, owner, count)
  local ends
  n.owner, n.record, ends = owner, living(owner, serial)
  for _, above in ipairs(n.above) do
    if n.record or ends then break end
    n.owner, n.record, ends = above.owner, living(above.owner, serial)
  end
  if ends then
    n.given_up = true
    return
  end
  if n.record then
    n.how, n.mode = 'again', mode_in(n.record)
    return
  end
  for _, above in ipairs(n.above) do
    local found = living(above.owner, above.serial)
    if found and found:match('^{"token":(%d+)') then
      local _, number = mode_of(n.lock)
      n.how, n.mode = 'own', joined_as(mode_in(found))
      if n.mode and number == slots then
        n.how, n.owner, n.above_record = 'join', above.owner, found
        return
      end
    end
  end
end

-- Of a name that is not ours by a hold above us: has one ended that was to protect us?
local function lost_above(n)
  for _, above in ipairs(n.above) do
    local id = above.owner .. '#' .. above.serial
    if relied_on[id] and not was_released(n.tag, id) then return true end
  end
end

local function look(n)  -- 'take', 'turn' (it is another's in line) or 'busy'
  local function fits() return has_room(n.lock, mode, slots) end
  if not fits() and redis.call('TYPE', n.lock)['ok'] == 'hash' and is_beside(mode_of(n.lock)) then
    settle(n.lock, n.holds, n.tag)
  end
  n.how = not n.given_up and fits() and may_take(n.lock, n.tag, n.line, n.waiters, me) or 'busy'
end

local function ms_since_done(n)  -- nil: not wanted all the same
  local since = tonumber(redis.call('TYPE', n.done)['ok'] == 'string' and redis.call('GET', n.done))
  local time = redis.call('TIME')
  local ago = since and math.max(time[1] * 1000 + math.floor(time[2] / 1000) - since, 0)
  return ago and ago < once and ago
end

local function free_slot(n)
  local taken, all = {}, redis.call('HGETALL', n.holds)
  for i = 1, #all, 2 do
    local slot, holder = tonumber(all[i + 1]:match('"slot":(%d+)')), all[i]:match('^(.*)#')
    local count = slot and holder and redis.call('HGET', n.lock, holder)
    if count and lease_left(n.tag, holder, count) then taken[slot] = true end
  end
  local slot = 0
  while taken[slot] do slot = slot + 1 end
  return slot
end

local function enter(n)  -- one more hold of n.owner in n.mode
  if redis.call('TYPE', n.holds)['ok'] ~= 'hash' then redis.call('DEL', n.holds) end
  if redis.call('EXISTS', n.lock) == 0 then
    redis.call('DEL', n.holds, n.revoked)  -- what a dead lease left
    if n.mode == 'slots' then redis.call('HSET', n.lock, 'mode', 'slots:' .. slots) end
    if n.mode == 'shared' then redis.call('HSET', n.lock, 'mode', 'read') end
    if n.mode == 'write' then redis.call('HSET', n.lock, 'mode', 'write') end
  elseif n.how == 'take' then  -- and the same where others go on
    if redis.call('HEXISTS', n.lock, owner) == 1 then drop_records(n.holds, {[owner] = true}) end
    if redis.call('TYPE', n.revoked)['ok'] == 'hash' then redis.call('HDEL', n.revoked, owner) end
  end
  local slot
  if n.mode == 'slots' then
    slot = n.above_record and n.above_record:match('"slot":(%d+)') or free_slot(n)
  end
  local token = n.next or n.above_record:match('^{"token":(%d+)')
  n.record = record(token, n.mode, slot)
  local field, count = field_of(n.owner, n.mode), 1
  if n.how == 'take' then
    redis.call('HSET', n.lock, field, 1)
  else
    count = redis.call('HINCRBY', n.lock, field, 1)
  end
  redis.call('HSET', n.holds, n.owner .. '#' .. serial, n.record)
  if is_beside(n.mode) then redis.call('SET', lease_key(n.tag, n.owner, count), '1', 'PX', ttl) end
end

local in_the_way, all_done = nil, once > 0  -- true, or ms since the first of the successes
for i, n in ipairs(names) do
  local bad = refused_by_acl(n)
  if bad then return bad end
  redis.call('ZCARD', n.line)  -- an error if it is none
  redis.call('ZCARD', n.waiters)
  look_above(n)
  if not n.how and lost_above(n) then return {'lost', i - 1} end
  local ago = all_done and not n.how and ms_since_done(n)
  all_done = ago and math.max(ago, tonumber(all_done) or 0)
end
if all_done then
  for _, n in ipairs(names) do
    if me ~= '' then
      leave(n.line, n.waiters, me)
      call_first(n.lock, n.tag, n.line, n.waiters)
    end
  end
  return {'done', all_done}
end
for i, n in ipairs(names) do
  if not n.how then look(n) end
  if n.how == 'busy' and mode == 'slots' and redis.call('TYPE', n.lock)['ok'] == 'hash' then
    local _, number = mode_of(n.lock)
    if number > 0 and number ~= slots then return {'slots', i - 1, number} end
  end
  local bad = n.how == 'take' and next_token(n)
  if bad then return bad end
  local way = n.how == 'busy' or n.how == 'turn' or n.how == 'own'
  if way and (not in_the_way or n.how == 'own') then in_the_way = i end
end

if not in_the_way then
  local reply = {'granted'}
  for _, n in ipairs(names) do
    if n.how == 'take' then
      n.owner, n.mode = owner, mode
      store_token(n)
    end
    if n.how == 'again' then
      if is_beside(n.mode) then
        set_leases(n.tag, n.owner, redis.call('HGET', n.lock, n.owner), ttl)
      end
    else
      enter(n)
    end
    extend(n.lock)
    extend(n.holds)
    if me ~= '' then leave(n.line, n.waiters, me) end
    -- Whoever comes next may find room as well.
    if is_beside(mode) then call_first(n.lock, n.tag, n.line, n.waiters) end
    reply[#reply + 1], reply[#reply + 2] = n.owner, n.record
  end
  return reply
end

local stands, own, full_at = me ~= '', names[in_the_way].how == 'own', nil
local function waits(n) return n.how == 'busy' or n.how == 'turn' or n.how == 'take' end
for i, n in ipairs(names) do
  if redis.call('EXISTS', n.line) == 1 then prune(n.line, n.waiters, line_now()) end
  local full = most and waits(n) and redis.call('ZCARD', n.line) >= most
  if full and not own and not redis.call('ZSCORE', n.line, me) then
    stands = false
    full_at = full_at or n.how ~= 'take' and i
  end
end
in_the_way = full_at or in_the_way
-- Who was passed over in one of its lines has lost its place in all: two who stood in another order
-- in each would wait for each other for ever.
for _, n in ipairs(names) do
  if #names > 1 and me ~= '' and waits(n) and not redis.call('ZSCORE', n.line, me) then
    for _, other in ipairs(names) do leave(other.line, other.waiters, me) end
  end
end
for _, n in ipairs(names) do
  if stands and waits(n) and not own then stand(n.line, n.waiters, me) end
end
local n = names[in_the_way]
local place = stands and redis.call('ZRANK', n.line, me)
local turn = -1
if n.how == 'turn' then
  local first = redis.call('ZRANGE', n.line, 0, 0)[1]
  local ends = tonumber(first and redis.call('ZSCORE', n.waiters, first) or '0')
  turn = math.max(ends - line_now(), 0)
end
return {'busy', holding(n.lock, n.holds, n.revoked, n.tag, n.line), place and place + 1 or 0,
  in_the_way - 1, turn, own and 1 or 0}
