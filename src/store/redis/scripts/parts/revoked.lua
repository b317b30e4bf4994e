-- Has the server refuse renewals by these owners; `by` says who wants that.
-- Needs types.lua.
local function revoke_owners(lock, revoked, owners, by)
  if not is_hash(revoked) then redis.call('DEL', revoked) end
  for _, owner in ipairs(owners) do redis.call('HSET', revoked, owner, by) end
  local left = redis.call('PTTL', lock)
  redis.call('PEXPIRE', revoked, left > 0 and left or 86400000)
end
