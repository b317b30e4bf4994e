-- leave: removes a waiter from the lines of its names. If it was the waiter's turn, the next waiter
-- gets it.
--
-- KEYS  for each name: lock, line, waiters
-- ARGV  1 our waiter; then the tag of each name
-- Returns {'left'}, also if it was in no line
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/time.lua
-- include: parts/types.lua
-- include: parts/names.lua
-- include: parts/modes.lua
-- include: parts/waiter.lua
-- include: parts/line.lua
for i = 2, #ARGV do
  local lock, line, waiters = unpack(KEYS, 3 * i - 5, 3 * i - 3)
  leave(line, waiters, ARGV[1])
  call_first(lock, ARGV[i], line, waiters)
end
return {'left'}
