-- Shared by every operation. Redis scripts cannot include one another, so
-- scripts.go puts three generated tables (REPLY: the reply codes, LIMIT: the
-- limits of the protocol, FIELDS: the fields of the conversation hash but for
-- the handoffs) and this file in front of each operation's own text.
--
-- It writes nothing by itself: an operation changes fields with put and then
-- calls save once, after its last check. Redis does not roll back, so nothing
-- that can fail may come after the first write.
--
-- What every operation is given:
--   KEYS[1]  the counter
--   KEYS[2]  the conversation
--   ARGV[1]  retention, milliseconds
--   ARGV[2]  the command that publishes: PUBLISH, or SPUBLISH in a cluster

local GEN, CONVERSATION = KEYS[1], KEYS[2]
-- The channel of its events is in the same slot and no key. As one of KEYS it would
-- be a key that is missing, and a cluster refuses those while it moves their slot.
local EVENTS = CONVERSATION:gsub('conversation$', 'events')
local RETENTION, PUBLISH = ARGV[1], ARGV[2]

-- The state: what commit, restore and finish write. Its copy in the snapshot
-- has the same names behind 'snap_'.
local STATE = {'checkpoints', 'cooldown', 'error', 'streak', 'strikes', 'blocked'}

-- Only the server's clock counts. Milliseconds since the epoch stay far below
-- 2^53, so they, unlike generations, may be calculated with.
local clock = redis.call('TIME')
local NOW = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- whole writes a number without exponent or fraction.
local function whole(n) return string.format('%.0f', n) end

local function number(s) return tonumber(s) or 0 end

-- Arguments -----------------------------------------------------------------

local function is_count(s) return #s <= 15 and s:match('^%d+$') ~= nil end
local function is_span(s) return is_count(s) and tonumber(s) > 0 end
local function is_flag(s) return s == '0' or s == '1' end
local function is_attempt(s) return #s <= 64 and s:match('^[%w%-]+$') ~= nil end
local function is_fence(s) return #s <= 85 and s:match('^[1-9]%d*/[%w%-]+$') ~= nil end
local function is_digest(s) return #s == 64 and s:match('^%x+$') ~= nil end

-- faulty takes pairs of a name and whether that argument holds, and returns the
-- refusal that names the first one that does not.
local function faulty(...)
  local pair = {'retention', is_span(RETENTION), 'publish', PUBLISH == 'PUBLISH' or PUBLISH == 'SPUBLISH', ...}
  for i = 1, #pair, 2 do
    if not pair[i + 1] then return {REPLY.invalid, pair[i]} end
  end
  return nil
end

-- Fences --------------------------------------------------------------------

-- A fence is 'generation/attempt', both halves in one string, so one comparison
-- compares both. No fence is the empty string.
local function generation_of(fence) return fence:match('^(%d+)/') or '0' end
local function attempt_of(fence) return fence:match('/(.+)$') or '' end

-- higher compares decimal strings, since Lua's numbers end at 2^53.
local function higher(a, b) return #a > #b or (#a == #b and a > b) end

-- The conversation ----------------------------------------------------------

-- peek reads every field at once; a missing one is the empty string. A key of
-- another type fails here, before anything is written.
local function peek()
  local values = redis.call('HMGET', CONVERSATION, unpack(FIELDS))
  local conv, changed = {}, {}
  for i, name in ipairs(FIELDS) do conv[name] = values[i] or '' end
  conv.named = conv.checkpoints .. '\n' .. conv.snap_checkpoints
  conv.changed = changed
  return conv
end

-- load is peek for operations that write. A master that was just demoted runs a
-- script until its first write, and would answer "lost" from what it is about to
-- throw away; that answer is final. So a write is asked for first: one that
-- changes nothing, and that a replica, or a server without memory, refuses. It
-- is a write to the counter, so that it names no key that may be missing alone.
local function load()
  if redis.call('EXISTS', GEN) == 1 then
    redis.call('SETRANGE', GEN, 0, '')
  else
    redis.call('LPUSHX', GEN, '')
  end
  return peek()
end

-- put changes a field; the empty string removes it.
local function put(conv, name, value)
  if conv[name] ~= value then
    conv[name] = value
    conv.changed[name] = true
  end
end

-- listed returns the fields in the order in which reply.go reads them.
local function listed(conv)
  local values = {}
  for i, name in ipairs(FIELDS) do values[i] = conv[name] end
  return values
end

-- refuse tells a newer attempt from a store that forgot: no owner is below every
-- fence.
local function refuse(conv, fence)
  if higher(generation_of(conv.owner), generation_of(fence)) then
    return {REPLY.superseded}
  end
  return {REPLY.lost}
end

-- left says for how long a time still lies ahead: zero if it is past, and zero
-- if it lies further ahead than it can have been set, which happens after a
-- failover to a server whose clock is behind.
local function left(time, longest)
  local ahead = number(time) - NOW
  if ahead <= 0 or ahead > longest then return 0 end
  return ahead
end

-- lease_left is zero unless the owner works and its lease runs.
local function lease_left(conv)
  if conv.phase ~= 'working' then return 0 end
  return left(conv.lease_end, number(conv.lease))
end

-- Checkpoints ---------------------------------------------------------------

-- A checkpoint is one line: fence, settled, covered, digest, and what only Go
-- reads (created, tokens, step, route).
local function line_of(fence, settled, covered, digest, rest)
  return fence .. ' ' .. settled .. ' ' .. covered .. ' ' .. digest .. ' ' .. rest
end

local function lines(text)
  local found = {}
  for line in text:gmatch('[^\n]+') do
    local fence, settled, covered, digest, rest = line:match('^(%S+) ([01]) (%d+) (%x+) (.*)$')
    if fence then
      found[#found + 1] = {line = line, fence = fence, settled = settled, covered = covered, digest = digest, rest = rest}
    end
  end
  return found
end

local function joined(list)
  local text = {}
  for i, c in ipairs(list) do text[i] = c.line end
  return table.concat(text, '\n')
end

-- find returns the newest checkpoint in whose field the value stands.
local function find(conv, field, value)
  for _, c in ipairs(lines(conv.checkpoints)) do
    if c[field] == value then return c end
  end
  return nil
end

local function handoff_field(fence) return 'handoff:' .. fence end

local function handoff_of(fence)
  return redis.call('HGET', CONVERSATION, handoff_field(fence)) or ''
end

-- Snapshot ------------------------------------------------------------------

local function keep_snapshot(conv, fence)
  put(conv, 'snap', fence)
  for _, name in ipairs(STATE) do put(conv, 'snap_' .. name, conv[name]) end
end

local function drop_snapshot(conv)
  put(conv, 'snap', '')
  for _, name in ipairs(STATE) do put(conv, 'snap_' .. name, '') end
end

local function put_snapshot_back(conv)
  for _, name in ipairs(STATE) do put(conv, name, conv['snap_' .. name]) end
  drop_snapshot(conv)
end

-- Charges -------------------------------------------------------------------

-- charge is what a failure costs: the streak, its class, and a cooldown, which
-- never gets shorter by it. A given length goes before the ladder's rung.
local function charge(conv, class, climb, length)
  local streak, span = number(conv.streak), LIMIT.rung1
  if climb == '1' then
    streak = streak + 1
    if streak == 2 then span = LIMIT.rung2 end
    if streak > 2 then span = LIMIT.rung3 end
  end
  if number(length) > 0 then span = math.min(number(length), LIMIT.cooldown) end
  span = math.max(span, left(conv.cooldown, LIMIT.cooldown))
  put(conv, 'streak', whole(streak))
  put(conv, 'error', class)
  put(conv, 'cooldown', whole(NOW + span))
end

-- strike counts a fold that did not help; enough in a row block for a while.
local function strike(conv)
  local strikes = number(conv.strikes) + 1
  put(conv, 'strikes', whole(strikes))
  if strikes >= LIMIT.strikes then put(conv, 'blocked', whole(NOW + LIMIT.block)) end
end

-- Phases --------------------------------------------------------------------

local function lower_flag(conv)
  put(conv, 'cancel', '')
  put(conv, 'cancel_reason', '')
  put(conv, 'cancel_at', '')
end

-- close ends the owner's attempt in that phase: no flag, and the lease is over.
local function close(conv, phase)
  put(conv, 'phase', phase)
  put(conv, 'lease_end', whole(NOW))
  lower_flag(conv)
end

-- Writing -------------------------------------------------------------------

-- next_generation takes the next number, above the owner's even where the
-- counter was evicted alone. Nil, with nothing written, where there is none.
local function next_generation(conv)
  local gen, floor = redis.call('GET', GEN) or '0', generation_of(conv.owner)
  if not gen:match('^%d+$') then return nil end
  local behind = higher(floor, gen)
  if not higher('9223372036854775807', behind and floor or gen) then return nil end
  if behind then redis.call('SET', GEN, floor) end
  redis.call('INCR', GEN)
  return redis.call('GET', GEN)
end

-- announce tells watchers that something changed. It is a hint: a server that
-- refuses it (an old one, an access rule) does not undo the operation.
local function announce() redis.pcall(PUBLISH, EVENTS, '1') end

-- touch gives both keys the same time to live, so that a conversation is there
-- whole or gone whole, and never gone while its attempt may still run.
local function touch(conv)
  local needed = number(conv.ceiling) - number(conv.claimed) + number(conv.lease)
  local ttl = whole(math.max(number(RETENTION), needed))
  redis.call('PEXPIRE', CONVERSATION, ttl)
  redis.call('PEXPIRE', GEN, ttl)
end

-- save writes what put changed, and removes the handoffs that neither the state
-- nor the snapshot names any more. handoff, if given, is written beside it for
-- the owner's fence.
local function save(conv, handoff)
  local set, gone = {}, {}
  for name in pairs(conv.changed) do
    if conv[name] == '' then
      gone[#gone + 1] = name
    else
      set[#set + 1] = name
      set[#set + 1] = conv[name]
    end
  end
  if handoff then
    set[#set + 1] = handoff_field(conv.owner)
    set[#set + 1] = handoff
  end
  local named = {}
  for _, c in ipairs(lines(conv.checkpoints .. '\n' .. conv.snap_checkpoints)) do named[c.fence] = true end
  for _, c in ipairs(lines(conv.named)) do
    if not named[c.fence] then gone[#gone + 1] = handoff_field(c.fence) end
  end
  if #set > 0 then redis.call('HSET', CONVERSATION, unpack(set)) end
  if #gone > 0 then redis.call('HDEL', CONVERSATION, unpack(gone)) end
  touch(conv)
end
