-- The newest run that reported its end: a string, the record of its hold with how it ended behind
-- (record_json.hpp): '"outcome":"child","exit_status":0,"waited_ms":3,"keep_ms":86400000}'.
-- "newest" is the largest token of all runs that have reported their end, if it is not the run's.
-- A server may refuse this key, which KEYS does not name: then the note is not written.
-- Needs names.lua.
local function note_end(tag, record, mode)
  if ARGV[3] == '' then return end
  local last, newest = last_of .. tag, ''
  if mode == 'shared' or mode == 'slots' then  -- runs end in another order than they began
    local before = redis.pcall('GET', last)
    before = type(before) == 'string' and before or ''
    local token = tonumber(before:match('"newest":(%d+)') or before:match('"token":(%d+)'))
    if token and token > (tonumber(record:match('"token":(%d+)')) or 0) then
      newest = '"newest":' .. string.format('%.0f', token) .. ','
    end
  end
  redis.pcall('SET', last, record:sub(1, -2) .. ',' .. newest .. ARGV[3], 'PX', ARGV[4])
end
