-- For acquire: fencing tokens. A token is larger than the one before and at least the server's time
-- in µs, so that tokens grow even after the server has lost its data. A claim to several servers
-- proposes its host's time instead, so that all servers grant the same token; a proposal more than
-- a quarter of a second from the server's time is ignored (core/lock_store.hpp).
-- Needs time.lua, claim.lua.
local function least_token()
  local close = proposed ~= '' and math.abs(tonumber(proposed) - now_us()) <= 250000
  return close and proposed or now_digits()
end

-- Sets n.next; only reads; returns an error if the key holds no usable number.
local function next_token(n)
  n.next, n.stored = least_token(), redis.call('GET', n.token)
  -- If two texts have equally many digits, the one that sorts first is the smaller number.
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

-- Stores n.next, for a day, give or take an hour. Java's RFencedLock sets no TTL: such a token
-- keeps none.
local function store_token(n)
  local left = n.stored and redis.call('PTTL', n.token) or 0
  if left == -1 or left > 82800000 then
    redis.call('SET', n.token, n.next, 'KEEPTTL')
  else
    redis.call('SET', n.token, n.next, 'PX', '86400000')
  end
end
