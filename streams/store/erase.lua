-- Delete everything of one user, and fence it: writes that came before stay out.
--
-- KEYS: the user's meta hash.
-- ARGV: user id, key prefix, a generation that meta may have lost, number of suffixes
--       per generation, those suffixes, number of suffixes per user, those suffixes,
--       then kind and arrival of each fence.
-- Reply: suffix and number of entries of each key that was deleted, flat.

local meta, user, prefix = KEYS[1], ARGV[1], ARGV[2]
local owner = redis.call('HGET', meta, 'user')
if owner and owner ~= user then
  return redis.error_reply('FOREIGN meta names another user')
end

local at = 4
local function take()
  local items, count = {}, tonumber(ARGV[at])
  for i = 1, count do items[i] = ARGV[at + i] end
  at = at + count + 1
  return items
end
local of_generation, of_user = take(), take()

local reply = {}
local function delete(key, suffix)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' then return end
  local count = 1
  if kind == 'hash' then
    count = redis.call('HLEN', key) - redis.call('HEXISTS', key, '#sequence')
  end
  reply[#reply + 1] = suffix
  reply[#reply + 1] = count
  redis.call('UNLINK', key)
end

local names = redis.call('HKEYS', meta)
names[#names + 1] = 'generation:' .. ARGV[3]
for _, name in ipairs(names) do
  local generation = name:match('^generation:(.*)$')
  if generation then
    for _, suffix in ipairs(of_generation) do
      delete(prefix .. generation .. ':' .. suffix, suffix)
    end
    redis.call('HDEL', meta, name)
  end
end
for _, suffix in ipairs(of_user) do delete(prefix .. suffix, suffix) end
redis.call('HDEL', meta, 'user')

for i = at, #ARGV, 2 do
  local fence = 'fence:' .. ARGV[i]
  local stored = redis.call('HGET', meta, fence)
  local higher = not stored or #ARGV[i + 1] > #stored
    or (#ARGV[i + 1] == #stored and ARGV[i + 1] > stored)
  if higher then redis.call('HSET', meta, fence, ARGV[i + 1]) end
end
return reply
