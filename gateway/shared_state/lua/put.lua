-- KEYS: the entry, the owner's list, the owner's sizes. ARGV: prefix of the owner's entries, of its parts, name, ttl in
-- ms, most bytes of the owner, the value, the names of its parts, most entries ('' = any number), then name and place of
-- each part. Returns 1, or 0: no room.
local entries, parts, name, ttl, most, size = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), #ARGV[6]
if ARGV[8] ~= '' then
  local count = 0
  for _, other in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    count = count + redis.call('EXISTS', entries .. other)
  end
  if count >= tonumber(ARGV[8]) then return 0 end
end
drop(KEYS[1], KEYS[2], KEYS[3], name, parts)
if size > most then return 0 end
local total = size
for _, other in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  if redis.call('EXISTS', entries .. other) == 0 then drop(entries .. other, KEYS[2], KEYS[3], other, parts)
  else total = total + redis.call('HGET', KEYS[3], other) end
end
while total > most do
  local oldest = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  total = total - redis.call('HGET', KEYS[3], oldest)
  drop(entries .. oldest, KEYS[2], KEYS[3], oldest, parts)
end
redis.call('HSET', KEYS[1], 'value', ARGV[6], 'parts', ARGV[7])
redis.call('PEXPIRE', KEYS[1], ttl)
for i = 9, #ARGV, 2 do redis.call('SET', parts .. ARGV[i], name .. ' ' .. ARGV[i + 1], 'PX', ttl) end
redis.call('ZADD', KEYS[2], now, name)
redis.call('HSET', KEYS[3], name, size)
for i = 2, 3 do
  if redis.call('PTTL', KEYS[i]) < tonumber(ttl) then redis.call('PEXPIRE', KEYS[i], ttl) end
end
return 1
