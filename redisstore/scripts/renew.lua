-- renew extends the lease of a working attempt.
--
-- Invariant: the lease never runs past the ceiling, so that an owner that is
-- alive but stuck loses it all the same.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
-- ARGV[4]  lease, milliseconds
-- ARGV[5]  1: progress was made
--
-- Replies:
--   done
--   cancelled   reason; the lease is extended nevertheless
--   superseded, lost, ended (phase)
--   invalid     argument

local fence, lease, progress = ARGV[3], ARGV[4], ARGV[5]

local wrong = faulty('fence', is_fence(fence), 'lease', is_span(lease), 'progress', is_flag(progress))
if wrong then return wrong end

local conv = load()

-- 1. Is it current, and does it still work?
if conv.owner ~= fence then return refuse(conv, fence) end
if conv.phase ~= 'working' then return {REPLY.ended, conv.phase} end

-- 2. Extend. A ceiling further ahead than it can have been set counts as past.
local last = number(conv.ceiling)
if last - NOW > last - number(conv.claimed) then last = NOW end
put(conv, 'lease', lease)
put(conv, 'lease_end', whole(math.min(NOW + number(lease), last)))
if progress == '1' then put(conv, 'progress', whole(NOW)) end
save(conv)
if conv.cancel ~= '' then return {REPLY.cancelled, conv.cancel_reason} end
return {REPLY.done}
