-- Begins a script: the time of Redis' clock, in unix milliseconds.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
