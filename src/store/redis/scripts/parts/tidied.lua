-- For release: tidies what an owner leaves behind.
-- Needs freeze.lua, leases.lua.

-- `longest`: the lease may have been the longest. The lock's key lasts as long as the longest
-- lease; and waiters may wait for a dead owner. settle() corrects both.
local function tidy_up(lock, holds, line, tag, beside, longest)
  if beside and (longest or redis.call('EXISTS', line) == 1) then settle(lock, holds, tag) end
  if redis.call('EXISTS', lock) == 0 then clear_records(holds) end
end
