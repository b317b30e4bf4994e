-- forget: removes the note of the newest success (--once-per). It reads and changes no lock.
--
-- KEYS  1 done
-- Returns {'forgotten', since in ms, now in ms, ms left}   the time of the grant, and how long it
--                                                          would still have been remembered
--         {'nothing'}                                      there was no note
-- include: parts/server.lua
-- include: parts/clock.lua
-- include: parts/time.lua
-- include: parts/types.lua
local done = KEYS[1]
local since = text_at(done)
if not tonumber(since) then return {'nothing'} end
local left = redis.call('PTTL', done)
redis.call('DEL', done)
return {'forgotten', since:sub(1, 20), now_ms(), left}
