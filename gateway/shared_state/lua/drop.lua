-- Begins a script: removes an entry and what points to it. A hash has `value` and, of its parts, the names in `parts`.
local function drop(entry, list, sizes, name, part_prefix)
  local parts = redis.call('HGET', entry, 'parts') or ''
  for part in string.gmatch(parts, '%w+') do redis.call('DEL', part_prefix .. part) end
  redis.call('DEL', entry)
  redis.call('ZREM', list, name)
  redis.call('HDEL', sizes, name)
end
