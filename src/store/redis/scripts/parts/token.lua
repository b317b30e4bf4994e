-- For acquire: fencing tokens. A token is larger than the one before and at least the server's time
-- in µs, so that tokens grow even after the server has lost its data. A claim to several servers
-- proposes its host's time instead, so that all servers grant the same token; a proposal more than
-- a quarter of a second from the server's time is ignored (core/lock_store.hpp).
-- Needs time.lua, claim.lua.
local function least_token()
  local close = proposed ~= '' and math.abs(tonumber(proposed) - now_us()) <= 250000
  return close and proposed or now_digits()
end

-- If two texts have equally many digits, the one that sorts first is the smaller number.
local function is_less(a, b) return #a == #b and a < b and a:find('^%d+$') end

-- Sets n.next; only reads; returns an error if the key holds no usable number.
local function next_token(n)
  n.next, n.stored = least_token(), redis.call('GET', n.token)
  if not n.stored or is_less(n.stored, n.next) then return end
  local last = tonumber(n.stored)
  if not last or last < 0 or last >= endless then
    local what = ' is not a usable number'
    return redis.error_reply('ERR the fencing token at ' .. n.token .. what)
  end
  n.next = decimal(math.max(last + 1, tonumber(n.next)))
end

-- Returns whether both tokens are times in the same hour. The grant of the first looked at the TTL.
local function in_one_hour(a, b)
  return math.floor(tonumber(a) / 3600000000) == math.floor(tonumber(b) / 3600000000)
end

-- Stores n.next, for a day, give or take two hours. Java's RFencedLock sets no TTL: such a token
-- keeps none.
local function store_token(n)
  local left = n.stored and (in_one_hour(n.stored, n.next) and endless
                             or redis.call('PTTL', n.token)) or 0
  if left == -1 or left > 82800000 then
    redis.call('SET', n.token, n.next, 'KEEPTTL')
  else
    redis.call('SET', n.token, n.next, 'PX', '86400000')
  end
end

-- The same as next_token and store_token, but most often one command: it stores the token in any
-- case, and puts the one before back where more is to be done.
local function take_token(n)
  n.next = least_token()
  n.stored = redis.call('SET', n.token, n.next, 'KEEPTTL', 'GET')
  if not n.stored then
    redis.call('PEXPIRE', n.token, '86400000')
  elseif not is_less(n.stored, n.next) or not in_one_hour(n.stored, n.next) then
    redis.call('SET', n.token, n.stored, 'KEEPTTL')
    local bad = next_token(n)
    if bad then return bad end
    store_token(n)
  end
end
