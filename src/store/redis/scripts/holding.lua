-- holding(lock, holds, revoked, tag, line): how a name stands now, as
--   {type, pttl in ms, now in ms, number of owners, {owner, count, its own lease in ms or -1, ...},
--    {hold id, record, ...}, revoked by, number in line (0 where no line is given), mode, slots}
-- The pttl is of the next lease whose end makes room. Who is dead beside others is left out.
-- Bounded whatever stands there: at most 64 owners and records, long texts are cut.
local function holding(lock, holds, revoked, tag, line)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local kind = redis.call('TYPE', lock)['ok']
  local reply = {kind, redis.call('PTTL', lock), now, 0, {}, {}, '',
    line and redis.call('ZCARD', line) or 0, 'exclusive', 0}
  if kind ~= 'hash' then return reply end
  local mode, slots = mode_of(lock)
  local size = redis.call('HLEN', lock)
  local fields = size <= 1100 and redis.call('HGETALL', lock) or {}
  if #fields == 0 and mode ~= 'exclusive' then size = size - 1 end
  local owners, dead, least, most, known = reply[5], 0, nil, nil, {}
  for i = 1, #fields, 2 do
    local owner, left = fields[i], -1
    if is_beside(mode) and owner ~= 'mode' then
      left = lease_left(tag, owner, fields[i + 1])
      if left then
        least, most = math.min(least or left, left), math.max(most or left, left)
      else
        dead = dead + 1
      end
    end
    local inner = mode == 'write' and redis.call('HEXISTS', lock, owner .. ':write') == 1
    if mode == 'write' then owner = owner:gsub(':write$', '') end
    if inner or owner == 'mode' and mode ~= 'exclusive' then
      size = size - 1
    elseif left and #owners < 192 then
      known[owner] = true
      owners[#owners + 1] = owner:sub(1, 128)
      owners[#owners + 1] = fields[i + 1]:sub(1, 128)
      owners[#owners + 1] = left
    end
  end
  if is_beside(mode) and #fields > 0 then
    if dead < size then
      reply[2] = math.min(mode == 'slots' and least or most, 9007199254740991)
    elseif reply[2] == -1 then  -- another program's, for ever
      dead = 0
    else
      reply[1], reply[2] = 'none', -2
      return reply
    end
  end
  reply[4], reply[9], reply[10] = size - dead, mode, slots
  if redis.call('TYPE', holds)['ok'] == 'hash' and redis.call('HLEN', holds) <= 4096 then
    local all = redis.call('HGETALL', holds)
    for i = 1, #all, 2 do
      if known[all[i]:match('^(.*)#')] and #reply[6] < 128 then
        reply[6][#reply[6] + 1] = all[i]:sub(1, 256)
        reply[6][#reply[6] + 1] = all[i + 1]:sub(1, 4096)
      end
    end
  end
  if redis.call('TYPE', revoked)['ok'] == 'hash' then
    for owner in pairs(known) do
      local by = redis.call('HGET', revoked, owner)
      if by then reply[7] = by:sub(1, 256) end
    end
  end
  return reply
end
