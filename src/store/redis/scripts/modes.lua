-- How a lock is held. The field `mode` of its hash is absent (exclusive), 'read' or 'write' (as
-- Redisson's pair), or 'slots:<N>', which every lock of Redisson takes for held. Beside others, each
-- owner has a lease of its own: a string key for each of its holds, as Redisson's readers have.
local function mode_of(lock)  -- of a hash, and the number of slots
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then return 'exclusive', 0 end
  local slots = tonumber(mode:match('^slots:(%d+)$'))
  if slots then return 'slots', slots end
  return mode == 'read' and 'shared' or mode, 0
end

local function is_beside(mode) return mode == 'shared' or mode == 'slots' end

-- Where the holds of an owner are counted.
local function field_of(owner, mode) return mode == 'write' and owner .. ':write' or owner end

local function lease_key(tag, owner, i) return tag .. ':' .. owner .. ':rwlock_timeout:' .. i end

local function mode_in(record) return record:match('"mode":"(%a+)"') or 'exclusive' end

-- What an owner beside others has left, in ms: the longest of its `count` holds; nil: it is dead.
local function lease_left(tag, owner, count)
  local longest
  for i = 1, math.min(tonumber(count) or 0, 1000) do
    local left = redis.call('PTTL', lease_key(tag, owner, i))
    if left == -1 then return 9007199254740991 end
    if left >= 0 and left > (longest or -1) then longest = left end
  end
  return longest
end

local function set_leases(tag, owner, count, ttl)  -- never shortens
  for i = 1, ttl > 0 and math.min(tonumber(count) or 0, 1000) or 0 do
    local key = lease_key(tag, owner, i)
    if redis.call('PTTL', key) < ttl then redis.call('SET', key, '1', 'PX', ttl) end
  end
end

-- Which holds of acquire were released in good order: a sorted set of their ids, by the time. Who
-- does not find a hold there, and not on record, knows that it was lost. Nothing else says so, since
-- the shell that has released goes on with its old DLOCK_HOLDS.
local function is_of_acquire(serial) return #serial == 17 and serial:sub(1, 1) == 'a' end

local function note_release(tag, id)
  local key, time = 'dlock:released:' .. tag, redis.call('TIME')
  redis.call('ZADD', key, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), id)
  for _, old in ipairs(redis.call('ZRANGE', key, 0, -101)) do redis.call('ZREM', key, old) end
  redis.call('PEXPIRE', key, 86400000)
end

local function was_released(tag, id)
  return type(redis.pcall('ZSCORE', 'dlock:released:' .. tag, id)) == 'string'
end

local function keep_holds(lock, holds)  -- as long as the lock
  local left = redis.call('PTTL', lock)
  if left >= 0 then redis.call('PEXPIRE', holds, left) end
end

-- Does this owner hold it in this way? Not what is only kept after its run.
local function holds_it(lock, holds, tag, owner, mode)
  if redis.call('TYPE', holds)['ok'] == 'hash'
    and redis.call('HEXISTS', holds, owner .. '#kept') == 1 then return false end
  local count = redis.call('HGET', lock, field_of(owner, mode))
  if not count then return false end
  local now = mode_of(lock)
  if mode == 'shared' and now == 'write' then return true end  -- it reads in its own write hold
  if now ~= mode then return false end
  return not is_beside(mode) or lease_left(tag, owner, count) ~= nil
end

local function drop_records(holds, owners)  -- of the keys of this table
  if not next(owners) or redis.call('TYPE', holds)['ok'] ~= 'hash' then return end
  for _, id in ipairs(redis.call('HKEYS', holds)) do
    if owners[id:match('^(.*)#')] then redis.call('HDEL', holds, id) end
  end
end

-- Of a lock that many hold: takes out the dead, and has the key last as long as the longest lease.
-- A hash that is somebody else's, who calls a field `mode` as well, is left as it is.
local function settle(lock, holds, tag)
  local longest, dead, fields = -1, {}, redis.call('HGETALL', lock)
  for i = 1, #fields, 2 do
    local counts = fields[i]:find(':', 1, true) and tonumber(fields[i + 1])
    if fields[i] ~= 'mode' and not counts then return end
  end
  local expiry = redis.call('PTTL', lock)
  if expiry < 0 then return end
  for i = 1, #fields, 2 do
    local owner = fields[i]
    if owner ~= 'mode' then
      local left = lease_left(tag, owner, fields[i + 1])
      longest = math.max(longest, left or -1)
      if not left then
        dead[owner] = true
        redis.call('HDEL', lock, owner)
      end
    end
  end
  drop_records(holds, dead)
  -- A change is news for all who hold it: none is made for nothing, as everybody who waits asks.
  local over = expiry - longest
  if redis.call('HLEN', lock) <= 1 then
    redis.call('DEL', lock, holds)
  elseif longest < 9007199254740991 and (over < -1 or over > 20) then
    redis.call('PEXPIRE', lock, longest)
  end
end

-- Redisson's word for "unlocked", of a pair for who has left, if the lock is gone or ends sooner
-- than was told: Redisson's waiters look at nothing else. 1, or not a number: the server refused.
local function tell_redisson(lock, tag, mode, lasted)
  local lasts = redis.call('PTTL', lock)
  if lasts ~= -2 and lasts >= lasted - 1000 then return 1 end
  local pair = mode == 'shared' or mode == 'write'
  return redis.pcall('PUBLISH', (pair and 'redisson_rwlock:' or 'redisson_lock__channel:') .. tag,
                     mode == 'write' and '1' or '0')
end

-- Is there room for a claim beside those who hold the lock? The dead take room until settle(). What
-- never expires is neither Redisson's nor ours, whatever it calls itself.
local function has_room(lock, mode, slots)
  local kind = redis.call('TYPE', lock)['ok']
  if kind ~= 'hash' then return kind == 'none' end
  local now, n = mode_of(lock)
  if redis.call('PTTL', lock) == -1 then return false end
  if mode == 'slots' then
    return now == 'slots' and n == slots and redis.call('HLEN', lock) - 1 < n
  end
  return mode == 'shared' and now == 'shared'
end
