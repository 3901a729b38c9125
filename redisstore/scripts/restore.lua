-- restore puts back what stood before a commit, then charges the failure.
--
-- Invariant: the snapshot of this very commit comes back as one unit, counters
-- and cooldown included. A settled checkpoint is never undone.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  fence
-- ARGV[4]  1: charge a failure
-- ARGV[5]  class of the failure
-- ARGV[6]  1: go up the ladder
-- ARGV[7]  cooldown instead of the ladder's rung, milliseconds; 0: the rung
--
-- Replies:
--   done        also for a working attempt, which has published nothing
--   already     it is restored
--   superseded, lost, ended (phase)
--   invalid     argument

local fence, charged, class, climb, length = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local wrong = faulty(
  'fence', is_fence(fence),
  'charge', is_flag(charged),
  'climb', is_flag(climb),
  'cooldown', is_count(length))
if wrong then return wrong end

local conv = load()

-- 1. Is it current? Done already?
if conv.owner ~= fence then return refuse(conv, fence) end
if conv.phase == 'restored' then return {REPLY.already} end
if conv.phase == 'working' then return {REPLY.done} end

-- 2. Is it committed, with its own snapshot?
if conv.phase ~= 'committed' or conv.snap ~= fence then return {REPLY.ended, conv.phase} end

-- 3. Put it back.
put_snapshot_back(conv)
if charged == '1' then charge(conv, class, climb, length) end
close(conv, 'restored')
save(conv)
announce()
return {REPLY.done}
