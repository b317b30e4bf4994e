-- For revoke: deletes a lock, or some of its owners.
-- Needs types.lua, freeze.lua, records.lua, leases.lua.
local function remove_lock(lock, holds, revoked)
  redis.call('DEL', lock, revoked)
  clear_records(holds)
end

-- Removes these owners of a lock that several hold beside each other.
local function remove_beside(lock, holds, tag, owners)
  local gone = {}
  for _, owner in ipairs(owners) do
    local count = tonumber(redis.call('HGET', lock, owner)) or 0
    for i = 1, math.min(count, 1000) do redis.call('DEL', lease_key(tag, owner, i)) end
    redis.call('HDEL', lock, owner)
    gone[owner] = true
  end
  drop_records(holds, gone)
  if redis.call('EXISTS', lock) == 1 then settle(lock, holds, tag) end
end
