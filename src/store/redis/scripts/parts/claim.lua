-- Of acquire: reads KEYS and ARGV into the words of the claim, and a table for each of its names.
-- The other parts of acquire use these. n.how will say what the claim gets at the name n:
--   'again'  its own hold, which it has already    'take'  a new hold
--   'join'   a hold beside that of an ancestor     'own'   nothing: an ancestor is in the way
--   'busy'   nothing: there is no room             'turn'  nothing: the first in line gets it
local owner, serial, ttl, me, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5], tonumber(ARGV[6])
local mode, slots, once = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local names, arg = {}, 10
for i = 1, #KEYS, 7 do
  local n = {above = {}, tag = ARGV[arg]}
  n.lock, n.token, n.holds, n.revoked, n.line, n.waiters, n.done = unpack(KEYS, i, i + 6)
  for _ = 1, tonumber(ARGV[arg + 1]) do
    n.above[#n.above + 1] = {owner = ARGV[arg + 2], serial = ARGV[arg + 3]}
    arg = arg + 2
  end
  arg = arg + 2
  names[#names + 1] = n
end

local relied_on = {}  -- hold ids
for i = arg, #ARGV do relied_on[ARGV[i]] = true end
