-- revoke: has the server refuse renewals by the present owners, or deletes the lock at once.
--
-- KEYS  1 lock   2 holds   3 revoked   4 line   5 waiters
-- ARGV  1 by  2 '1' = delete at once  3 only this owner, or ''  4 only this token, or ''  5 tag
-- Returns {'nothing', {holding}}        the lock was free
--         {'other_holder', {holding}}   no owner matches the given owner or token
--         {'not_dlock', {holding}}      no holder is dlock, and only dlock heeds revocations
--         {'revoked', {holding}}        renewals are refused; the lease continues to its end
--         {'deleted', {holding}}        the lock is deleted and the waiters were told; also if it
--                                       was only kept after its release
--         {'frozen', {holding}}         no run holds the lock: a freeze keeps it (unfreeze.lua)
-- The holding is the state before. An owner or a token selects one of several owners.
--
-- Atomic: the holder that was looked at must be the one that loses the lock.
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/time.lua
-- include: parts/types.lua
-- include: parts/names.lua
-- include: parts/modes.lua
-- include: parts/hold.lua
-- include: parts/freeze.lua
-- include: parts/records.lua
-- include: parts/leases.lua
-- include: parts/removed.lua
-- include: parts/revoked.lua
-- include: parts/holding.lua
-- include: parts/redisson.lua
-- include: parts/waiter.lua
-- include: parts/line.lua
local lock, holds, revoked, line, waiters = unpack(KEYS)
local by, at_once, if_owner, if_token, tag = unpack(ARGV)
local before = holding(lock, holds, revoked, tag)
local kind = before[1]
if kind == 'none' then return {'nothing', before} end

-- 1. Find the owners to revoke: running ones, and owners whose lock is only kept. Expired owners
-- are skipped.
local mode = kind == 'hash' and mode_of(lock)
if is_beside(mode) then settle(lock, holds, tag) end
local running, kept, meant, any, frozen = {}, {}, {[if_owner] = true}, if_token == '', nil
local records = is_hash(holds) and redis.call('HGETALL', holds) or {}
for i = 1, #records, 2 do
  local owner, record = owner_in(records[i]), records[i + 1]
  local right = if_token == '' or token_in(record) == if_token
  local field = kind == 'hash' and owner and field_of(owner, mode_in(record))
  local there = field and redis.call('HGET', lock, field)
  if there and right and (if_owner == '' or owner == if_owner) then
    any, meant[owner] = true, true
    local list = records[i] == id_of(owner, 'kept') and kept or running
    frozen = frozen or list == kept and token_in(record) == '0'
    list[#list + 1] = owner
  end
end
local owned = if_owner == '' or kind == 'hash' and (redis.call('HGET', lock, if_owner)
  or redis.call('HGET', lock, if_owner .. ':write'))
if not any or not owned then return {'other_holder', before} end
if frozen then return {'frozen', before} end

local lasted = redis.call('PTTL', lock)
local function tell()
  tell_redisson(lock, tag, mode, lasted)
  pcall(call_first, lock, tag, line, waiters)
end
local function deleted()
  tell()
  return {'deleted', before}
end

-- 2. Delete at once.
if at_once == '1' then
  local all, chosen = if_owner == '' and if_token == '', {}
  for _, owner in ipairs(is_beside(mode) and redis.call('HKEYS', lock) or {}) do
    if owner ~= 'mode' and (all or meant[owner]) then chosen[#chosen + 1] = owner end
  end
  if is_beside(mode) then remove_beside(lock, holds, tag, chosen) end
  if all or not is_beside(mode) then remove_lock(lock, holds, revoked) end
  keep_frozen(lock, holds)
  return deleted()
end

-- 3. A lock that is only kept has no process to stop: delete it too.
if is_beside(mode) then
  remove_beside(lock, holds, tag, kept)
elseif #kept > 0 then
  remove_lock(lock, holds, revoked)
end
keep_frozen(lock, holds)
if #running == 0 then return #kept > 0 and deleted() or {'not_dlock', before} end

-- 4. Revoke the others.
revoke_owners(lock, revoked, running, by)
if #kept > 0 then tell() end
return {'revoked', before}
