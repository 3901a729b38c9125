-- forget deletes a conversation but for its counter.
--
-- Invariant: numbers go on, so whoever still works is lost, and no fence of the
-- past matches one of the future.
--
-- KEYS[1]  counter
-- KEYS[2]  conversation
-- ARGV[1]  retention, milliseconds
-- ARGV[2]  publishing command
--
-- Replies:
--   generation  the counter
--   invalid     argument
--   corrupt     key

local wrong = faulty()
if wrong then return wrong end

local conv = load()

local generation = next_generation(conv)
if not generation then return {REPLY.corrupt, 'gen'} end
touch(conv)
redis.call('DEL', CONVERSATION)
announce()
return {REPLY.generation, generation}
