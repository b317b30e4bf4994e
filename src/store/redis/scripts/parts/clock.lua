-- The server's clock. A script reads it once, so that all its writes have the same time.
local clock

local function now_digits()  -- in µs
  if not clock then
    local time = redis.call('TIME')
    local us = time[2]
    clock = time[1] .. (#us == 6 and us or ('00000' .. us):sub(-6))
  end
  return clock
end
