-- The server's clock. A script reads it once, so everything that it writes has one time.
local clock_us

local function now_us()
  if not clock_us then
    local time = redis.call('TIME')
    clock_us = time[1] * 1000000 + time[2]
  end
  return clock_us
end

local function now_ms() return math.floor(now_us() / 1000) end

local endless = 9007199254740991  -- ms; also the largest number that Lua counts exactly

-- A whole number in decimal digits: Lua itself would write 1.7e+15.
local function decimal(number) return string.format('%.0f', number) end
