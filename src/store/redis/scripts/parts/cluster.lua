-- A server of a cluster; in the place of server.lua. The last key never exists. So a server that is
-- giving the slot away refuses the script before its first command (TRYAGAIN), instead of at the
-- first key that has left, with half of the work done. PUBLISH would count the subscribers of this
-- node too, but send each message to all nodes; SPUBLISH came with Redis 7, as acl_check_cmd did.
KEYS[#KEYS] = nil
local publish, in_cluster = redis.acl_check_cmd and 'SPUBLISH' or 'PUBLISH', true
