-- settle marks a checkpoint as proven and drops the snapshot.
--
-- Invariant: only the snapshot of this very commit is dropped.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
--
-- Replies:
--   done
--   already     it is settled
--   superseded, lost, ended (phase)
--   invalid     argument

local fence = ARGV[3]

local wrong = faulty('fence', is_fence(fence))
if wrong then return wrong end

local conv = load()

-- 1. Done already. It is in use all the same, and retention counts from the
-- last use.
local own = find(conv, 'fence', fence)
if own and own.settled == '1' then
  touch(conv)
  return {REPLY.already}
end

-- 2. Is it current and committed? One that a newer claim left provisional stands
-- and is used just the same.
if conv.owner ~= fence then
  if own then touch(conv) end
  return refuse(conv, fence)
end
if conv.phase ~= 'committed' or not own then return {REPLY.ended, conv.phase} end

-- 3. Mark it.
local list = lines(conv.checkpoints)
for _, c in ipairs(list) do
  if c.fence == fence then c.line = line_of(c.fence, '1', c.covered, c.digest, c.rest) end
end
put(conv, 'checkpoints', joined(list))
put(conv, 'phase', 'settled')
drop_snapshot(conv)
save(conv)
return {REPLY.done}
