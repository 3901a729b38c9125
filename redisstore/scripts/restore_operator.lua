-- restore_operator goes one checkpoint back, whoever works.
--
-- Invariant: it runs once for one decision, and only against the owner that the
-- operator saw. It takes a generation in the same step, so that whoever works is
-- superseded by it.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence of the owner that was seen, or empty: none
-- ARGV[4]  attempt id of the decision
--
-- Replies:
--   done
--   already     this decision is the owner
--   notcurrent
--   invalid     argument
--   corrupt     key

local saw, by = ARGV[3], ARGV[4]

local wrong = faulty('saw', saw == '' or is_fence(saw), 'attempt', is_attempt(by))
if wrong then return wrong end

local conv = load()

-- 1. Done already? Is the owner still the one that was seen?
if attempt_of(conv.owner) == by then return {REPLY.already} end
if conv.owner ~= saw then return {REPLY.notcurrent} end

-- 2. Take a generation and become the owner.
local generation = next_generation(conv)
if not generation then return {REPLY.corrupt, 'gen'} end
if conv.phase == 'committed' and conv.snap == conv.owner and conv.snap ~= '' then
  put_snapshot_back(conv)
else
  local list = lines(conv.checkpoints)
  table.remove(list, 1)
  put(conv, 'checkpoints', joined(list))
  drop_snapshot(conv)
end
put(conv, 'owner', generation .. '/' .. by)
for _, name in ipairs({'replica', 'route', 'digest', 'covered', 'trace', 'lease'}) do put(conv, name, '') end
for _, name in ipairs({'claimed', 'progress', 'ceiling'}) do put(conv, name, whole(NOW)) end
close(conv, 'abandoned')
save(conv)
announce()
return {REPLY.done}
