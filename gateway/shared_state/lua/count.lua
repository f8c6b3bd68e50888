-- KEYS: the owner's list, its sizes. ARGV: prefix of its entries, of its parts. Returns how many entries it has.
local count = 0
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('EXISTS', ARGV[1] .. name) == 1 then count = count + 1
  else drop(ARGV[1] .. name, KEYS[1], KEYS[2], name, ARGV[2]) end
end
return count
