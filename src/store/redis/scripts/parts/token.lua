-- For acquire: fencing tokens. A token is larger than the token before, and at least the server's
-- time in µs, so that tokens grow also after the server has lost its data. A claim to several
-- servers proposes the time of its host instead, so that all grant the same token; a proposal more
-- than a quarter of a second from the server's time does not count (core/lock_store.hpp).
-- Needs time.lua, claim.lua.
local function least_token()
  local close = proposed ~= '' and math.abs(tonumber(proposed) - now_us()) <= 250000
  return close and proposed or now_digits()
end

local function next_token(n)  -- into n.next; only reads; an error if the key holds no such number
  n.next, n.stored = least_token(), redis.call('GET', n.token)
  -- With as many digits, a text that sorts before is smaller.
  if not n.stored or #n.stored == #n.next and n.stored < n.next and n.stored:find('^%d+$') then
    return
  end
  local last = tonumber(n.stored)
  if not last or last < 0 or last >= endless then
    local what = ' is not a usable number'
    return redis.error_reply('ERR the fencing token at ' .. n.token .. what)
  end
  n.next = decimal(math.max(last + 1, tonumber(n.next)))
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
