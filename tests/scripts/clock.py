# SPDX-License-Identifier: MIT
"""What stops the time in the server between two steps, so that nothing depends on how long the test
or the machine takes there. FREEZE tells how all names stand and moves every expiry so far away that
it never comes; THAW moves them back, and what was stored as a time along with them, as if only as
many ms had passed as the test wants. What passes in between, while a script runs, is real."""

FREEZE = """
local time, names, endless = redis.call('TIME'), {}, {}
local now, far = time[1] * 1000 + math.floor(time[2] / 1000), 10000000000
local function left(key)
  local ends = redis.call('PEXPIRETIME', key)
  return ends < 0 and ends or math.max(ends - now, 0)
end
for _, name in ipairs(ARGV) do
  local lock = 'dlock:' .. name
  local tag = '{' .. lock .. '}'
  local leases, line = {}, {}
  local fields = redis.call('TYPE', lock)['ok'] == 'hash' and redis.call('HGETALL', lock) or {}
  for i = 1, #fields, 2 do
    for j = 1, tonumber(fields[i + 1]) or 0 do
      leases[#leases + 1] = fields[i]
      leases[#leases + 1] = left(tag .. ':' .. fields[i] .. ':rwlock_timeout:' .. j)
    end
  end
  for _, who in ipairs(redis.call('ZRANGE', 'dlock:line:' .. tag, 0, -1)) do
    line[#line + 1] = who
    line[#line + 1] = redis.call('ZSCORE', 'dlock:waiters:' .. tag, who) or ''
  end
  names[#names + 1] = {fields, left(lock), leases, redis.call('HGETALL', 'dlock:holds:' .. tag),
    left('dlock:holds:' .. tag), line, redis.call('ZCARD', 'dlock:waiters:' .. tag),
    redis.call('HKEYS', 'dlock:revoked:' .. tag), redis.call('ZRANGE', 'dlock:released:' .. tag, 0, -1)}
end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local ends = redis.call('PEXPIRETIME', key)
  if ends < 0 then
    endless[#endless + 1] = key
  else
    redis.call('PEXPIREAT', key, string.format('%.0f', ends + far))
  end
end
return {time, names, endless}
"""

# ARGV: since when the time stands still, in ms, and how many ms shall have passed.
# Returns the time, and by how many ms everything is later now.
THAW = """
local time, far = redis.call('TIME'), 10000000000
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local by = now - ARGV[1] - ARGV[2]
local function moved(number, scale) return string.format('%.0f', number + by * scale) end
local function move_scores(key, scale)
  local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do redis.call('ZADD', key, moved(all[i + 1], scale), all[i]) end
end
local function move_records(key)
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local record = all[i + 1]:gsub('("since_ms":)(%d+)', function(word, ms)
      return word .. moved(ms, 1)
    end)
    redis.call('HSET', key, all[i], record)
  end
end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local ends = redis.call('PEXPIRETIME', key)
  local back = ends - far + by
  if ends >= 0 and back <= now then
    redis.call('DEL', key)
  elseif ends >= 0 then
    if key:find('^dlock:waiters:') then move_scores(key, 1) end
    if key:find('^dlock:line:') then move_scores(key, 1000) end
    if key:find('^dlock:holds:') then move_records(key) end
    if key:find('^dlock:done:') then
      redis.call('SET', key, moved(redis.call('GET', key), 1), 'KEEPTTL')
    end
    redis.call('PEXPIREAT', key, string.format('%.0f', back))
  end
end
return {time, by}
"""
