-- What is stored at a key. Another program may use any of our keys: commands that need one type are
-- sent only to keys of that type.
local function type_of(key) return redis.call('TYPE', key)['ok'] end

local function is_hash(key) return type_of(key) == 'hash' end

local function text_at(key)  -- false: no string there
  return type_of(key) == 'string' and redis.call('GET', key)
end
