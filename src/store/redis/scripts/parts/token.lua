-- Of acquire: fencing tokens. A token is larger than the one before, and at least the server's time
-- in µs, so that tokens grow also after the server has lost its data.
-- Needs time.lua.
local function next_token(n)  -- into n.next; only reads; an error if the key holds no such number
  n.next, n.stored = now_digits(), redis.call('GET', n.token)
  -- Of as many digits and sorted before it: smaller.
  if not n.stored or #n.stored == #n.next and n.stored < n.next and n.stored:find('^%d+$') then
    return
  end
  local last = tonumber(n.stored)
  if not last or last < 0 or last >= endless then
    local what = ' is not a usable number'
    return redis.error_reply('ERR the fencing token at ' .. n.token .. what)
  end
  n.next = decimal(math.max(last + 1, now_us()))
end

-- For a day, give or take an hour. Java's RFencedLock made it without a TTL, and needs none.
local function store_token(n)
  local left = n.stored and redis.call('PTTL', n.token) or 0
  if left == -1 or left > 82800000 then
    redis.call('SET', n.token, n.next, 'KEEPTTL')
  else
    redis.call('SET', n.token, n.next, 'PX', '86400000')
  end
end
