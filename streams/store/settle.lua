-- Write a decision about a user's adapter, and with it what serves from now on: all or nothing.
--
-- KEYS: the user's meta hash, adapters hash, list of decisions.
-- ARGV: user id, fence of erasures, current and newest version: all as they were when the
--       decision was begun; then the version that serves from now on, its bytes ('' for one that
--       is kept already), how far it has seen the pairs, what was decided on ('' leaves that as it
--       is), the decision, and how many versions and decisions are kept.
-- Reply: 1, or 0 when the user was erased or another decision came first.

local meta, adapters, decisions = KEYS[1], KEYS[2], KEYS[3]
local version, blob, seen, state, decision = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local versions_kept, decisions_kept = tonumber(ARGV[10]), tonumber(ARGV[11])

local function number(value) return tonumber(value or '0') or 0 end

if redis.call('HGET', meta, 'user') ~= ARGV[1] then return 0 end
if (redis.call('HGET', meta, 'fence:e') or '') ~= ARGV[2] then return 0 end
local known = redis.call('HMGET', adapters, 'current', 'newest')
if number(known[1]) ~= tonumber(ARGV[3]) or number(known[2]) ~= tonumber(ARGV[4]) then return 0 end

if blob ~= '' then
  redis.call('HSET', adapters, 'v' .. version, blob, 'seen' .. version, seen, 'newest', version)
  for _, name in ipairs(redis.call('HKEYS', adapters)) do
    local old = name:match('^v(%d+)$') or name:match('^seen(%d+)$')
    if old and tonumber(old) <= tonumber(version) - versions_kept then
      redis.call('HDEL', adapters, name)
    end
  end
end
redis.call('HSET', adapters, 'current', version)
if state ~= '' then redis.call('HSET', adapters, 'decided', state) end
redis.call('LPUSH', decisions, decision)
redis.call('LTRIM', decisions, 0, decisions_kept - 1)
return 1
