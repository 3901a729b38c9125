-- commit publishes a checkpoint, provisional until settled.
--
-- Invariant: one fence commits at most once, never after its flag was raised,
-- and only for the target that it claimed. The state before it is kept whole.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
-- ARGV[4]  digest of the target
-- ARGV[5]  count of the target
-- ARGV[6]  tokens, step and route of the checkpoint, as record.go writes them
-- ARGV[7]  1: the fold is still over the trigger
-- ARGV[8]  handoff, opaque
--
-- Replies:
--   done
--   already     its checkpoint stands
--   cancelled   reason
--   superseded, lost, ended (phase)
--   invalid     argument

local fence, digest, covered, rest, struck, handoff = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]

local wrong = faulty(
  'fence', is_fence(fence),
  'digest', is_digest(digest),
  'covered', is_count(covered),
  'checkpoint', rest:match('^%d+ %S+ %S*$') ~= nil,
  'strike', is_flag(struck))
if wrong then return wrong end

local conv = load()

-- 1. Done already: what stands counts, whoever is the owner by now.
if find(conv, 'fence', fence) then return {REPLY.already} end

-- 2. Is it current, does it still work, and is this what it claimed?
if conv.owner ~= fence then return refuse(conv, fence) end
if conv.phase ~= 'working' then return {REPLY.ended, conv.phase} end
if conv.cancel ~= '' then return {REPLY.cancelled, conv.cancel_reason} end
if conv.digest ~= digest or conv.covered ~= covered then return {REPLY.invalid, 'target'} end

-- 3. Keep the state, then change it.
keep_snapshot(conv, fence)
local list = lines(conv.checkpoints)
table.insert(list, 1, {line = line_of(fence, '0', covered, digest, whole(NOW) .. ' ' .. rest)})
while #list > LIMIT.checkpoints do table.remove(list) end
put(conv, 'checkpoints', joined(list))
put(conv, 'cooldown', '')
put(conv, 'error', '')
put(conv, 'streak', '')
put(conv, 'deaths', '')
if struck == '1' then
  strike(conv)
else
  put(conv, 'strikes', '')
  put(conv, 'blocked', '')
end
close(conv, 'committed')
save(conv, handoff)
announce()
return {REPLY.done}
