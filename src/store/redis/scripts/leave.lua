-- leave: takes a waiter out of the lines of its names, and passes on the turns that it may have had.
--
-- KEYS  for each name: lock, line, waiters
-- ARGV  1 who we are in line; then the tag of each name
-- Returns {'left'}, also if we did not stand there
-- include: modes.lua
-- include: line.lua
for i = 2, #ARGV do
  local lock, line, waiters = unpack(KEYS, 3 * i - 5, 3 * i - 3)
  leave(line, waiters, ARGV[1])
  call_first(lock, ARGV[i], line, waiters)
end
return {'left'}
