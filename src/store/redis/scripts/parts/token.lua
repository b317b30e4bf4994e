-- For acquire: fencing tokens. A token is larger than the one before and at least the server's time
-- in µs, so that tokens grow even after the server has lost its data. A claim to several servers
-- proposes its host's time instead, so that all servers grant the same token; a proposal more than
-- a quarter of a second from the server's time is ignored (core/lock_store.hpp).
-- Needs clock.lua.
local function least_token(proposed)
  local close = proposed and math.abs(tonumber(proposed) - tonumber(now_digits())) <= 250000
  return close and proposed or now_digits()
end

-- If two texts have equally many digits, the one that sorts first is the smaller number.
local function is_less(a, b) return #a == #b and a < b and a:find('^%d+$') end

-- Gives the key of a token a day, give or take two hours. Java's RFencedLock sets no TTL: such a
-- key keeps none. If both tokens are times in the same quarter of an hour (1000 s, 16 digits), the
-- grant of the first has looked at the TTL.
local function keep_a_day(token, before, now)
  if before and #before == #now and before:sub(1, 7) == now:sub(1, 7) then return end
  local left = before and redis.call('PTTL', token) or 0
  if left ~= -1 and left <= 82800000 then redis.call('PEXPIRE', token, '86400000') end
end
