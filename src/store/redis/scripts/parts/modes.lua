-- The mode of a lock. The field `mode` of its hash is absent for a plain lock, 'read' or 'write'
-- for a reader-writer pair like Redisson's, or 'slots:<N>', which Redisson takes for held. The
-- scripts call these modes 'exclusive', 'shared', 'write' and 'slots'. In 'shared' and 'slots'
-- several owners hold the lock at once, each with a lease of its own (leases.lua).
-- Needs types.lua.
local function mode_of(lock)  -- returns the mode of a hash and the number of slots
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then return 'exclusive', 0 end
  local slots = tonumber(mode:match('^slots:(%d+)$'))
  if slots then return 'slots', slots end
  return mode == 'read' and 'shared' or mode, 0
end

-- Returns the value of the field `mode` in a new hash; nil: no such field.
local function mode_field(mode, slots)
  if mode == 'slots' then return 'slots:' .. slots end
  return mode == 'shared' and 'read' or mode == 'write' and 'write' or nil
end

-- Returns whether several owners can hold a lock in this mode at once.
local function is_beside(mode) return mode == 'shared' or mode == 'slots' end

-- Returns the hash field that counts an owner's holds.
local function field_of(owner, mode) return mode == 'write' and owner .. ':write' or owner end

local function mode_in(record) return record:match('"mode":"(%a+)"') or 'exclusive' end

-- Returns whether the lock has room for one more owner in this mode. Dead owners count until
-- settle(). A hash without a TTL belongs to another program, even if it has a field `mode`.
local function has_room(lock, mode, slots)
  local kind = type_of(lock)
  if kind ~= 'hash' then return kind == 'none' end
  local now, n = mode_of(lock)
  if redis.call('PTTL', lock) == -1 then return false end
  if mode == 'slots' then
    return now == 'slots' and n == slots and redis.call('HLEN', lock) - 1 < n
  end
  return mode == 'shared' and now == 'shared'
end
