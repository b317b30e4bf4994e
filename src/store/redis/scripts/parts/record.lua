-- For acquire: the record of a hold.
-- Returns the record of a hold. `rest`: the holder's own part of it, without its first brace.
local function new_record(token, since_ms, mode, slot, rest)
  return '{"token":' .. token .. ',"since_ms":' .. since_ms .. ','
    .. (mode == 'exclusive' and '' or '"mode":"' .. mode .. '",')
    .. (slot and '"slot":' .. slot .. ',' or '') .. rest
end
