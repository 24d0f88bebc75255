-- Write the newest version of each field, and say where each write stands.
--
-- KEYS: of each user: the hash, the meta hash.
-- ARGV: of each user: user id, generation ('' for a hash that has none), most fields of the hash
--       (0: any number), number of writes, then per write: field, version ('' for none), arrival, payload ('' buries the field).
-- Reply: sequence and born of each write, flat; 0 0 for one that was refused, -1 -1 for one that
--        found no room.
--
-- A write is refused when its version is not above the stored one; one without
-- a version, when its arrival is not above the stored one; and any, when its
-- arrival is not above the fence of its kind (the user was erased). The write
-- that is stored already gets its place again, so a repeated call learns
-- whether the first one was heard. Only a memory or a subject that was never here needs room:
-- what corrects, buries or brings back does not, and neither does the name of a subject.

-- Is one decimal above another? As strings: Lua's numbers are exact to 2^53 only.
local function above(one, other)
  if #one ~= #other then return #one > #other end
  return one > other
end

local function accepted(version, arrival, stored_version, stored_arrival)
  if not stored_arrival then return true end
  if version == '' then return above(arrival, stored_arrival) end
  return stored_version == '-' or above(version, stored_version)
end

local reply = {}

-- Put the writes at ARGV[first] to ARGV[last] into one user's hash; return false for a foreign one.
local function put(hash, meta, user, generation, limit, first, last)
  local known = redis.call('HMGET', meta, 'user', 'generation:' .. generation)
  if known[1] and known[1] ~= user then return false end
  local registered = known[1] and (known[2] or generation == '')

  local function register()
    redis.call('HSET', meta, 'user', user)
    if generation ~= '' then redis.call('HSET', meta, 'generation:' .. generation, '1') end
    registered = true
  end

  local fences = {}
  local function fenced(field, arrival)
    local kind = field:sub(1, 1)
    if fences[kind] == nil then
      fences[kind] = redis.call('HGET', meta, 'fence:' .. kind)
    end
    return fences[kind] and not above(arrival, fences[kind])
  end

  local function has_room(field, payload, value)
    local kind = field:sub(1, 1)
    if limit == 0 or value or payload == '' or (kind ~= 'm' and kind ~= 's') then return true end
    return redis.call('HLEN', hash) <= limit  -- the counter is a field too
  end

  for i = first, last, 4 do
    local field, version, arrival, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    local sequence, born = 0, 0
    if not fenced(field, arrival) then
      local value = redis.call('HGET', hash, field)
      local v, a, s, b, start
      if value then v, a, s, b, start = value:match('^([-%d]+) (%d+) (%d+) (%d+) ()') end
      if not has_room(field, payload, value) then
        sequence, born = -1, -1
      elseif accepted(version, arrival, v, a) then
        if not registered then register() end
        sequence = redis.call('HINCRBY', hash, '#sequence', 1)
        born = sequence
        if start and (start <= #value or payload == '') then born = b end
        if version == '' then version = v or '-' end
        local header = version .. ' ' .. arrival .. ' ' .. sequence .. ' ' .. born .. ' '
        redis.call('HSET', hash, field, header .. payload)
      elseif a == arrival and (version == '' or version == v) then
        sequence, born = s, b
      end
    end
    reply[#reply + 1] = tonumber(sequence)
    reply[#reply + 1] = tonumber(born)
  end
  return true
end

local at = 1
for key = 1, #KEYS, 2 do
  local user, generation, limit = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local last = at + 3 + 4 * ARGV[at + 3]
  if not put(KEYS[key], KEYS[key + 1], user, generation, limit, at + 4, last) then
    return redis.error_reply('FOREIGN meta names another user')
  end
  at = last + 1
end
return reply
