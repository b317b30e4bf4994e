-- revoke: has renewals of the present owner refused, or deletes the lock at once.
--
-- KEYS  1 lock   2 holds   3 revoked   4 line   5 waiters
-- ARGV  1 by  2 '1' = delete at once  3 only if this owner, or ''  4 only if this token, or ''
--       5 channel  6 channel of turns
-- Returns {'nothing', {holding}}        it was free
--         {'other_holder', {holding}}   the owner or the token is another
--         {'not_dlock', {holding}}      the holder does not look for revocations
--         {'revoked', {holding}}        renewals are refused until the lease ends
--         {'deleted', {holding}}        gone, waiters were told
-- The holding is the one before. Atomic, because the holder that was looked at must be the one that
-- loses it.
-- include: holding.lua
-- include: line.lua
local lock, holds, revoked, line, waiters = unpack(KEYS)
local before = holding(lock, holds, revoked)
local kind, owners, records = before[1], before[5], before[6]
if kind == 'none' then return {'nothing', before} end

local holder, token
for i = 1, #owners, 2 do
  for j = 1, #records, 2 do
    if records[j]:sub(1, #owners[i] + 1) == owners[i] .. '#' then
      holder = owners[i]
      token = records[j + 1]:match('^{"token":(%d+)')
    end
  end
end
if ARGV[3] ~= '' and (kind ~= 'hash' or redis.call('HEXISTS', lock, ARGV[3]) == 0) then
  return {'other_holder', before}
end
if ARGV[4] ~= '' and ARGV[4] ~= token then return {'other_holder', before} end

if ARGV[2] == '1' then
  redis.call('DEL', lock, holds, revoked)
  redis.pcall('PUBLISH', ARGV[5], '0')
  if redis.call('EXISTS', line) == 1 then pcall(offer, line, waiters, ARGV[6]) end
  return {'deleted', before}
end
if not holder then return {'not_dlock', before} end

redis.call('DEL', revoked)
redis.call('HSET', revoked, 'owner', holder, 'by', ARGV[1])
redis.call('PEXPIRE', revoked, before[2] > 0 and before[2] or 86400000)
return {'revoked', before}
