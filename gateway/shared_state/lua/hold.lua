-- KEYS[1]: the set. ARGV: member and ms until it ends, in turn.
local longest = redis.call('PTTL', KEYS[1])
for i = 1, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], now + ARGV[i + 1], ARGV[i])
  longest = math.max(longest, ARGV[i + 1])
end
if #ARGV > 0 then redis.call('PEXPIRE', KEYS[1], longest) end
return 0
