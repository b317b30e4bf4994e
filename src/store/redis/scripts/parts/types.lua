-- The types of keys. Another program may use any of our keys, so commands for one type are sent
-- only to keys of that type.
local function type_of(key) return redis.call('TYPE', key)['ok'] end

local function is_hash(key) return type_of(key) == 'hash' end

local function text_at(key)  -- returns false if there is no string
  return type_of(key) == 'string' and redis.call('GET', key)
end
