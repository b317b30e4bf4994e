-- leave: takes a waiter out of the line, and passes on the turn that it may have had.
--
-- KEYS  1 lock   2 line   3 waiters
-- ARGV  1 who we are in line   2 channel of turns
-- Returns {'left'}, also if we did not stand there
-- include: line.lua
local lock, line, waiters = unpack(KEYS)
leave(line, waiters, ARGV[1])
if redis.call('EXISTS', lock) == 0 and redis.call('EXISTS', line) == 1 then
  offer(line, waiters, ARGV[2])
end
return {'left'}
