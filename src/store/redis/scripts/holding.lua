-- holding(lock, holds, revoked, line): how a name stands now, as
--   {type, pttl in ms, now in ms, number of owners, {owner, count, ...}, {hold id, record, ...},
--    revoked by, number in line (0 where no line is given)}
-- Bounded whatever stands there: at most 64 owners and records, long texts are cut.
local function holding(lock, holds, revoked, line)
  local function fields(key, longest)
    if redis.call('HLEN', key) > 64 then return {} end
    local all = redis.call('HGETALL', key)
    for i, text in ipairs(all) do all[i] = text:sub(1, longest) end
    return all
  end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local kind = redis.call('TYPE', lock)['ok']
  local reply = {kind, redis.call('PTTL', lock), now, 0, {}, {}, '',
    line and redis.call('ZCARD', line) or 0}
  if kind == 'hash' then
    reply[4] = redis.call('HLEN', lock)
    reply[5] = fields(lock, 128)
    if redis.call('TYPE', holds)['ok'] == 'hash' then reply[6] = fields(holds, 4096) end
    if redis.call('TYPE', revoked)['ok'] == 'hash' then
      local owner = redis.call('HGET', revoked, 'owner')
      if owner and redis.call('HEXISTS', lock, owner) == 1 then
        reply[7] = (redis.call('HGET', revoked, 'by') or '?'):sub(1, 256)
      end
    end
  end
  return reply
end
