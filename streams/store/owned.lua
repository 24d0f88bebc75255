-- Run one write command on a user's key, unless the user was erased meanwhile.
--
-- KEYS: the user's meta hash, the key. ARGV: user id, command, its arguments after the key.

if redis.call('HGET', KEYS[1], 'user') ~= ARGV[1] then return false end
return redis.call(ARGV[2], KEYS[2], unpack(ARGV, 3))
