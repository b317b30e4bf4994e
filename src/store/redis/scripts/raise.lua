-- raise: at one server of a quorum, gives the holds of one run the tokens on which a majority
-- agreed. Then all servers have the same record of a hold, and later grants here have larger
-- tokens.
--
-- KEYS  for each name: holds, token
-- ARGV  1 serial, then for each name: owner, token, since in ms
-- Returns {'raised'}  all holds have their tokens
--         {'lost'}    a hold is not recorded; nothing was changed
--
-- Leases stay as they are. A token is a decimal number without a sign, at most 2^53.
-- include: parts/hold.lua
-- include: parts/types.lua
local serial, all = ARGV[1], {}
for i = 1, #KEYS / 2 do
  local owner, token, since = unpack(ARGV, 3 * i - 1, 3 * i + 1)
  local n = {holds = KEYS[2 * i - 1], token = KEYS[2 * i], id = id_of(owner, serial),
             wanted = token, since = since}
  n.record = is_hash(n.holds) and redis.call('HGET', n.holds, n.id)
  if not n.record then return {'lost'} end
  all[#all + 1] = n
end
for _, n in ipairs(all) do
  local rest = n.record:match('^{"token":%d+,"since_ms":%d+(.*)$')
  local start = '{"token":' .. n.wanted .. ',"since_ms":' .. n.since
  redis.call('HSET', n.holds, n.id, start .. rest)
  -- The grant has stored a token here, with its TTL. The stored token is never reduced.
  if (tonumber(redis.call('GET', n.token)) or 0) < tonumber(n.wanted) then
    redis.call('SET', n.token, n.wanted, 'KEEPTTL')
  end
end
return {'raised'}
