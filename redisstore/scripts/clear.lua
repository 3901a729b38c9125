-- clear is an attempt's last word: its flag is removed whole, and if it still
-- works it ends.
--
-- Invariant: a missing flag is never read as one that was not raised, because
-- an attempt whose flag is gone has ended.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
--
-- Replies:
--   phase       in which the attempt stands
--   notcurrent
--   invalid     argument

local fence = ARGV[3]

local wrong = faulty('fence', is_fence(fence))
if wrong then return wrong end

local conv = load()

-- 1. Is it the owner? Has it ended already?
if conv.owner ~= fence then return {REPLY.notcurrent} end
if conv.phase ~= 'working' then return {REPLY.phase, conv.phase} end

-- 2. End it.
close(conv, conv.cancel ~= '' and 'cancelled' or 'abandoned')
save(conv)
announce()
return {REPLY.phase, conv.phase}
