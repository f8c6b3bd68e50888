-- KEYS[1]: the set. ARGV: the limit, how long a member is held in ms, the member.
-- Returns: 0 if the member was added, else the ms until the first one ends; members left; ms until the first one ends.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local count = redis.call('ZCARD', KEYS[1])
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local reset = math.max(1, (first[2] or now + ARGV[2]) - now)
if count >= tonumber(ARGV[1]) then return {reset, 0, reset} end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {0, ARGV[1] - count - 1, reset}
