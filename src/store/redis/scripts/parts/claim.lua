-- For acquire: the claim's arguments, and a table for each of its names. The other parts of acquire
-- use them.
local owner, serial, ttl, me = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5]

-- ARGV[6] says what is not as for a plain lock: "mode=slots slots=3 once=1000 most=5 token=1234":
-- the mode and the number of slots, --once-per in ms, the largest number of others in line, and a
-- proposed token. Returns one of these values; nil: not asked for.
local function asked(word) return ARGV[6]:match(word .. '=(%w+)') end
local mode, slots = asked('mode') or 'exclusive', tonumber(asked('slots')) or 0
local once, most, proposed = tonumber(asked('once')) or 0, tonumber(asked('most')), asked('token')

local function name_at(i, tag)  -- returns the name whose keys begin at KEYS[i]
  local lock, token, holds, revoked, line, waiters, done = unpack(KEYS, i, i + 6)
  return {lock = lock, token = token, holds = holds, revoked = revoked, line = line,
          waiters = waiters, done = done, tag = tag}
end
