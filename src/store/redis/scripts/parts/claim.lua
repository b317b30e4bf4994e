-- For acquire: the claim's arguments, and a table for each of its names. The other parts of acquire
-- use them.
local owner, serial, ttl, me, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5], tonumber(ARGV[6])
local mode, slots, once = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local proposed = ARGV[10]

local function name_at(i, tag)  -- returns the name whose keys begin at KEYS[i]
  local lock, token, holds, revoked, line, waiters, done = unpack(KEYS, i, i + 6)
  return {lock = lock, token = token, holds = holds, revoked = revoked, line = line,
          waiters = waiters, done = done, tag = tag}
end
