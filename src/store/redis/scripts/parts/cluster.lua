-- For a server of a cluster; replaces server.lua. The last key never exists. So a server that is
-- giving its slot away refuses the script before its first command (TRYAGAIN), not at the first key
-- that has already moved, with half of the work done. PUBLISH would send each message to all nodes,
-- and count the subscribers of this node; SPUBLISH came with Redis 7, as acl_check_cmd did.
KEYS[#KEYS] = nil
local publish, in_cluster = redis.acl_check_cmd and 'SPUBLISH' or 'PUBLISH', true
