-- As `count`, but removes them all.
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  drop(ARGV[1] .. name, KEYS[1], KEYS[2], name, ARGV[2])
end
return 0
