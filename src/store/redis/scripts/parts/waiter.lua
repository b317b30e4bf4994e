-- A waiter is represented by its record, {"id":"<hold id>", ...}. "polls":true means that it has no
-- subscription; "mode" and "slots" say which hold it wants, "supersede" that the newest run wins.
local function waiter_id(waiter) return waiter:match('^{"id":"([^"]+)"') or '' end
local function polls(waiter) return waiter:find('^{"id":"[^"]+","polls":true') end

local function supersede_in(text) return text:match('"supersede":"(%a+)"') end

local function leave(line, waiters, who)
  redis.call('ZREM', line, who)
  redis.call('ZREM', waiters, who)
end
