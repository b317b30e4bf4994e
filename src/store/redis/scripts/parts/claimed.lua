-- For acquire: all names of the claim, and its ancestors' holds of them. n.how will say what the
-- claim gets at the name n:
--   'again'  its own hold, which it has already    'take'  a new hold
--   'join'   a hold beside that of an ancestor     'own'   nothing: an ancestor is in the way
--   'busy'   nothing: there is no room             'turn'  nothing: the first in line gets it
-- Needs claim.lua.
local names, arg = {}, 7
for i = 1, #KEYS, 7 do
  local n = name_at(i, ARGV[arg])
  n.above = {}
  for _ = 1, tonumber(ARGV[arg + 1]) do
    n.above[#n.above + 1] = {owner = ARGV[arg + 2], serial = ARGV[arg + 3]}
    arg = arg + 2
  end
  arg = arg + 2
  names[#names + 1] = n
end

local relied_on = {}  -- hold ids
for i = arg, #ARGV do relied_on[ARGV[i]] = true end
