-- raise asks one named attempt to stop.
--
-- Invariant: done is never followed by a commit of this attempt, nor by a claim
-- that supersedes it.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
-- ARGV[4]  reason
--
-- Replies:
--   done        also for a repeat, and for an attempt that ended as cancelled
--   ended       phase: the commit was first
--   notcurrent
--   invalid     argument

local fence, reason = ARGV[3], ARGV[4]

local wrong = faulty('fence', is_fence(fence))
if wrong then return wrong end

local conv = load()

-- 1. Done already, or too late.
if conv.owner ~= fence then
  local own = find(conv, 'fence', fence)
  if own then return {REPLY.ended, own.settled == '1' and 'settled' or 'committed'} end
  return {REPLY.notcurrent}
end
if conv.phase == 'cancelled' or conv.cancel ~= '' then return {REPLY.done} end
if conv.phase ~= 'working' then return {REPLY.ended, conv.phase} end

-- 2. Raise it.
put(conv, 'cancel', '1')
put(conv, 'cancel_reason', reason)
put(conv, 'cancel_at', whole(NOW))
save(conv)
announce()
return {REPLY.done}
