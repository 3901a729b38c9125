-- learned_save keeps one model's learned values under a scope.
--
-- Invariant: at most so many models; the one written longest ago goes first.
-- It stands alone, without the prelude: it takes no part in the protocol.
--
-- KEYS[1]  learned values of the scope
-- ARGV[1]  time to live, milliseconds
-- ARGV[2]  channel of the announcement
-- ARGV[3]  what to announce
-- ARGV[4]  models to keep
-- ARGV[5]  model
-- ARGV[6]  value, opaque
--
-- Replies:
--   done
--   invalid  argument

local LEARNED = KEYS[1]
local ttl, channel, scope, keep, model, value = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]

if not ttl:match('^[1-9]%d*$') then return {7, 'retention'} end
if not keep or keep < 1 then return {7, 'models'} end

-- A value is kept behind the time at which it was written.
local clock = redis.call('TIME')
local now = string.format('%.0f', tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
redis.call('HSET', LEARNED, model, now .. ' ' .. value)

local all, ages = redis.call('HGETALL', LEARNED), {}
for i = 1, #all, 2 do
  if all[i] ~= model then
    ages[#ages + 1] = {model = all[i], at = tonumber(all[i + 1]:match('^(%d+) ')) or 0}
  end
end
table.sort(ages, function(a, b) return a.at < b.at or (a.at == b.at and a.model < b.model) end)
for i = 1, #ages - keep + 1 do redis.call('HDEL', LEARNED, ages[i].model) end
redis.call('PEXPIRE', LEARNED, ttl)
redis.pcall('PUBLISH', channel, scope)
return {1}
