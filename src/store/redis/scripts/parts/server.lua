-- One server has all keys. In a cluster parts/cluster.lua stands here instead (EmbedLua.cmake).
local publish, in_cluster = 'PUBLISH', false
