-- A hold's id, and how long its record lasts.

-- By how many ms the records outlast the lock. Redis 7.0 counts a TTL from the command that sets
-- it, not from the start of the script, so records with the TTL of the lock would end before the
-- lock, and a renewal in between would extend a hold that has no record.
local outlast = 1000

local function id_of(owner, serial) return owner .. '#' .. serial end
