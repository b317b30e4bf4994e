-- Times as numbers and in ms. Needs clock.lua.
local function now_ms_digits() return now_digits():sub(1, -4) end
local function now_us() return tonumber(now_digits()) end
local function now_ms() return math.floor(now_us() / 1000) end

local endless = 9007199254740991  -- in ms; also the largest integer that Lua represents exactly

-- Returns an integer in decimal digits: Lua itself would write 1.7e+15.
local function decimal(number) return string.format('%.0f', number) end
