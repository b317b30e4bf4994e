-- inspect: how a name stands now. Changes nothing.
--
-- KEYS  1 lock   2 holds   3 revoked
-- Returns {holding}   see holding.lua
-- include: holding.lua
return holding(KEYS[1], KEYS[2], KEYS[3])
