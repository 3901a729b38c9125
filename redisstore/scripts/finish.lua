-- finish ends a working attempt without a commit.
--
-- Invariant: an outcome is recorded once, and never for an attempt that has
-- committed.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
-- ARGV[4]  phase: failed, ineffective, cancelled or abandoned
-- ARGV[5]  class of the failure
-- ARGV[6]  1: go up the ladder
-- ARGV[7]  cooldown instead of the ladder's rung, milliseconds; 0: the rung
--
-- Replies:
--   done        also for a repeat
--   superseded, lost, ended (phase)
--   invalid     argument

local fence, phase, class, climb, length = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local wrong = faulty(
  'fence', is_fence(fence),
  'phase', phase == 'failed' or phase == 'ineffective' or phase == 'cancelled' or phase == 'abandoned',
  'climb', is_flag(climb),
  'cooldown', is_count(length))
if wrong then return wrong end

local conv = load()

-- 1. Is it current? Done already? Does it still work?
if conv.owner ~= fence then return refuse(conv, fence) end
if conv.phase == phase then return {REPLY.done} end
if conv.phase ~= 'working' then return {REPLY.ended, conv.phase} end

-- 2. Record the outcome.
if phase == 'failed' then
  charge(conv, class, climb, length)
  put(conv, 'deaths', '')
elseif phase == 'ineffective' then
  strike(conv)
  put(conv, 'deaths', '')
end
close(conv, phase)
save(conv)
announce()
return {REPLY.done}
