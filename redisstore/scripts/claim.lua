-- claim makes an attempt the current one, or says why not.
--
-- Invariant: of all who ask, one becomes the owner, under a generation above
-- every one before it. The state is not touched. Waiting takes no generation.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  attempt id
-- ARGV[4]  fence to supersede, or empty
-- ARGV[5]  digest of the target
-- ARGV[6]  count of the target
-- ARGV[7]  lease, milliseconds
-- ARGV[8]  ceiling, milliseconds
-- ARGV[9]  1: ignore cooldown and block
-- ARGV[10] replica
-- ARGV[11] route
-- ARGV[12] traceparent
--
-- Replies:
--   claimed     fields
--   committed   checkpoint, handoff
--   busy        lease left, fields
--   cancelled   reason
--   cooling     until, left
--   blocked     until, left
--   superseded, lost, ended (phase)   of the attempt to supersede
--   invalid     argument
--   corrupt     key

local attempt, supersede, digest, covered = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local lease, ceiling, bypass = ARGV[7], ARGV[8], ARGV[9]
local replica, route, trace = ARGV[10], ARGV[11], ARGV[12]

local wrong = faulty(
  'attempt', is_attempt(attempt),
  'supersede', supersede == '' or is_fence(supersede),
  'digest', is_digest(digest),
  'covered', is_count(covered),
  'lease', is_span(lease),
  'ceiling', is_span(ceiling),
  'bypass', is_flag(bypass))
if wrong then return wrong end

local conv = load()

-- 1. Done already: by this very attempt, or by anybody for this very target.
if attempt_of(conv.owner) == attempt then return {REPLY.claimed, listed(conv)} end
local stands = find(conv, 'digest', digest)
if stands then return {REPLY.committed, stands.line, handoff_of(stands.fence)} end

-- 2. Only the attempt that the caller runs itself may be superseded; everybody
-- else waits for the lease.
if supersede ~= '' then
  if conv.owner ~= supersede then return refuse(conv, supersede) end
  if conv.phase ~= 'working' then return {REPLY.ended, conv.phase} end
  if conv.cancel ~= '' then return {REPLY.cancelled, conv.cancel_reason} end
elseif lease_left(conv) > 0 then
  return {REPLY.busy, whole(lease_left(conv)), listed(conv)}
end

-- 3. Cooldown and block.
if bypass == '0' then
  local cooling = left(conv.cooldown, LIMIT.cooldown)
  if cooling > 0 then return {REPLY.cooling, conv.cooldown, whole(cooling)} end
  local blocked = left(conv.blocked, LIMIT.block)
  if blocked > 0 then return {REPLY.blocked, conv.blocked, whole(blocked)} end
end

-- 4. An owner that still works although its lease is over died. The third in a
-- row is ended in its own name: a conversation that kills its replicas would
-- otherwise be claimed for ever, with nobody left to charge a failure.
local died = supersede == '' and conv.phase == 'working'
local deaths = number(conv.deaths) + (died and 1 or 0)
if died and deaths >= LIMIT.deaths then
  local raised, reason = conv.cancel ~= '', conv.cancel_reason
  close(conv, raised and 'cancelled' or 'abandoned')
  charge(conv, LIMIT.death_class, '1', '0')
  put(conv, 'deaths', '')
  save(conv)
  announce()
  if raised then return {REPLY.cancelled, reason} end
  return {REPLY.cooling, conv.cooldown, whole(left(conv.cooldown, LIMIT.cooldown))}
end

-- 5. Become the owner.
local ended = conv.phase == 'working'
local generation = next_generation(conv)
if not generation then return {REPLY.corrupt, 'gen'} end
put(conv, 'owner', generation .. '/' .. attempt)
put(conv, 'phase', 'working')
put(conv, 'replica', replica)
put(conv, 'route', route)
put(conv, 'claimed', whole(NOW))
put(conv, 'progress', whole(NOW))
put(conv, 'lease', lease)
put(conv, 'lease_end', whole(NOW + math.min(number(lease), number(ceiling))))
put(conv, 'ceiling', whole(NOW + number(ceiling)))
put(conv, 'deaths', deaths > 0 and whole(deaths) or '')
put(conv, 'digest', digest)
put(conv, 'covered', covered)
put(conv, 'trace', trace)
lower_flag(conv)
save(conv)
if ended then announce() end
return {REPLY.claimed, listed(conv)}
