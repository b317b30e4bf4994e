-- forget: takes back the note of the newest success, of --once-per. No lock is looked at or changed.
--
-- KEYS  1 done
-- Returns {'forgotten', since in ms, now in ms, ms left}   when it was granted, and for how long it
--                                                          would have been remembered
--         {'nothing'}                                      there was none
local done, time = KEYS[1], redis.call('TIME')
local since = redis.call('TYPE', done)['ok'] == 'string' and redis.call('GET', done)
if not tonumber(since) then return {'nothing'} end
local left = redis.call('PTTL', done)
redis.call('DEL', done)
return {'forgotten', since:sub(1, 20), time[1] * 1000 + math.floor(time[2] / 1000), left}
