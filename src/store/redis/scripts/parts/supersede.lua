-- For acquire: --supersede. A claim ends claims that said so, too, and wait before it in its line;
-- with "holder" it also revokes a holder that said "holder". A waiter that is superseded learns so
-- at its next try: no state is needed but the line.
-- Needs types.lua, hold.lua, freeze.lua, records.lua, leases.lua, claim.lua, claimed.lua,
-- waiter.lua, line.lua, revoked.lua.
local supersede = supersede_in(me)

-- Takes the claim out of the lines of all its names, and passes on its turn.
local function leave_lines()
  for _, n in ipairs(me ~= '' and names or {}) do
    leave(n.line, n.waiters, me)
    call_first(n.lock, n.tag, n.line, n.waiters)
  end
end

-- Returns the time at which the run of a record came, in ms; nil: it was not refused at first.
local function came_in(record) return tonumber(record:match('"came_ms":(%d+)')) end
local came = came_in(ARGV[4])

-- Returns the waiters that came later. A claim that was silent for too long has lost its place: it
-- is compared by the time when it came first.
local function behind(n)
  local place = redis.call('ZRANK', n.line, me)
  if place then return redis.call('ZRANGE', n.line, place + 1, -1) end
  local from = came and '(' .. decimal(came * 1000 + 999)
  return from and redis.call('ZRANGEBYSCORE', n.line, from, '+inf') or {}
end

-- Returns the record of a holder that came later and said --supersede.
local function newer_holder(n)
  local all = came and is_hash(n.lock) and is_hash(n.holds) and redis.call('HGETALL', n.holds) or {}
  for i = 1, #all, 2 do
    local its_owner, record = owner_in(all[i]), all[i + 1]  -- nil: a freeze
    local its = its_owner and supersede_in(record) and
                (came_in(record) or tonumber(record:match('"since_ms":(%d+)')))
    local count = its and redis.call('HGET', n.lock, field_of(its_owner, mode_in(record)))
    local lives = count and (not is_beside(mode_of(n.lock)) or lease_left(n.tag, its_owner, count))
    if lives and its > came and its_owner ~= owner then return record end
  end
end

-- Returns the reply to a claim that a later one has superseded, and takes it out of its lines. Nil:
-- the claim goes on.
local function superseded()
  local newest
  for _, n in ipairs(supersede and names or {}) do
    prune(n.line, n.waiters)
    for _, who in ipairs(not n.how and behind(n) or {}) do
      if supersede_in(who) then newest = who end
    end
    newest = not n.how and newer_holder(n) or newest
  end
  if not newest then return end
  leave_lines()
  return {'superseded', newest}
end

-- Revokes the holder if all its holds said "holder"; but not while the name is frozen, when the
-- claim could not begin.
local function supersede_holder(n)
  if supersede ~= 'holder' or not is_hash(n.lock) or not is_hash(n.holds) then return end
  if freeze_of(n.holds) then return end
  local refuses, chosen = {}, {}
  local all = redis.call('HGETALL', n.holds)
  for i = 1, #all, 2 do
    local owner = owner_in(all[i])  -- nil: a freeze
    local may = owner and supersede_in(all[i + 1]) == 'holder' and all[i] ~= id_of(owner, 'kept')
    if owner and not may then refuses[owner] = true end
  end
  for i = 1, #all, 2 do
    local owner = owner_in(all[i])
    local there = owner and redis.call('HGET', n.lock, field_of(owner, mode_in(all[i + 1])))
    local known = is_hash(n.revoked) and owner and redis.call('HGET', n.revoked, owner)
    if there and not refuses[owner] and not known then chosen[#chosen + 1] = owner end
  end
  local info = #chosen > 0 and cjson.decode('{' .. ARGV[4])
  local by = info and info.user .. '@' .. info.host .. ' (--supersede)'
  if info then revoke_owners(n.lock, n.revoked, chosen, by) end
end
