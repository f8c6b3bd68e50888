-- KEYS: the entry, the owner's list, the owner's sizes. ARGV: name, prefix of parts.
drop(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])
return 0
