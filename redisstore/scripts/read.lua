-- read answers how the conversation stands.
--
-- Invariant: nothing is written. Bytes travel only for checkpoints whose fence
-- the caller does not name.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
-- ARGV[3]  known fences, separated by spaces
--
-- Replies:
--   view     now, counter, lease left, fields, {fence, handoff, ...}
--   invalid  argument

local known = ARGV[3]

local wrong = faulty()
if wrong then return wrong end

local conv = peek()
local counter = redis.call('GET', GEN) or '0'

local skip, handoffs = {}, {}
for fence in known:gmatch('%S+') do skip[fence] = true end
for _, c in ipairs(lines(conv.checkpoints)) do
  if not skip[c.fence] then
    handoffs[#handoffs + 1] = c.fence
    handoffs[#handoffs + 1] = handoff_of(c.fence)
  end
end
return {REPLY.view, whole(NOW), counter, whole(lease_left(conv)), listed(conv), handoffs}
