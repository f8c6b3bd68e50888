-- KEYS: the counters. ARGV: the machine, then amount, limit ('' = none) and end (unix ms) of each.
-- Returns: the place of the first refused one or 0, then the total and the machine's own part of each.
local totals, own, refused = {}, {}, 0
for i, key in ipairs(KEYS) do
  local sum = 0
  for _, part in ipairs(redis.call('HVALS', key)) do sum = sum + part end
  totals[i], own[i] = sum, tonumber(redis.call('HGET', key, ARGV[1]) or 0)
  local amount, limit = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  if refused == 0 and limit and amount > 0 and sum + amount > limit then refused = i end
end
local answer = {tostring(refused)}
for i, key in ipairs(KEYS) do
  local added = 0
  if refused == 0 and tonumber(ARGV[3 * i - 1]) ~= 0 then
    added = tonumber(ARGV[3 * i - 1])
    redis.call('HINCRBY', key, ARGV[1], ARGV[3 * i - 1])
    redis.call('PEXPIREAT', key, ARGV[3 * i + 1])
  end
  answer[#answer + 1] = string.format('%.0f', totals[i] + added)
  answer[#answer + 1] = string.format('%.0f', own[i] + added)
end
return answer
