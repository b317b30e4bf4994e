-- For a single server, which has all keys. For a cluster, parts/cluster.lua replaces this
-- (EmbedLua.cmake).
local publish, in_cluster = 'PUBLISH', false
