-- KEYS[1]: the part. ARGV[1]: prefix of the owner's entries. Returns the part's bytes, or nil.
local name, first, last = string.match(redis.call('GET', KEYS[1]) or '', '(%w+) (%d+) (%d+)')
local value = name and redis.call('HGET', ARGV[1] .. name, 'value')
return value and string.sub(value, first, last)
