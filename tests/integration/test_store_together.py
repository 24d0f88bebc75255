"""One batch of many users: one call to a server, one a user to a cluster, the same outcome."""

import pytest
import redis as plain_redis

from streams.local import LocalRedis
from streams.settings import Settings
from streams.store import MEMORY, NAME, PAIR, Placed, RecordStore, Write, connect, field

BATCH = [
    Write("ada", field(MEMORY, "m1"), None, 1, b"one"),
    Write("eve", field(MEMORY, "m1"), 7, 2, b"two"),
    Write("ada", field(PAIR, "p1"), None, 3, b"three"),
    Write("eve", field(NAME, "kite"), 0, 4, b"four"),
    Write("ada", field(MEMORY, "m2"), None, 5, b""),
    Write("bob", field(MEMORY, "m1"), None, 6, b"six"),
    Write("ada", field(MEMORY, "m1"), None, 1, b"again"),
    Write("eve", field(MEMORY, "m1"), 6, 9, b"older"),
]
PLACED = [
    Placed(1, 1),
    Placed(1, 1),
    Placed(1, 1),  # pairs are numbered by themselves
    Placed(2, 2),
    Placed(2, 2),
    Placed(1, 1),
    Placed(1, 1),  # stored already
    None,
]


async def stored(store: RecordStore) -> list[bytes | None]:
    found = [await store.get_many(w.user_id, [w.field]) for w in BATCH]
    return [None if each is None else each.payload for (each,) in found]


def script_calls(server: LocalRedis) -> int:
    with plain_redis.Redis.from_url(server.url) as client:
        calls: int = client.info("commandstats")["cmdstat_evalsha"]["calls"]
        return calls


@pytest.mark.parametrize(("is_cluster", "calls"), [(False, 1), (True, 4)])
async def test_a_batch_of_many_users_is_put_together(own_redis, is_cluster, calls):
    store = await connect(Settings(redis=own_redis.url), "hash:8/8")
    store._session.is_cluster = is_cluster

    placed = await store.put(BATCH)

    assert placed == PLACED
    assert script_calls(own_redis) == calls
    assert await stored(store) == [b"one", b"two", b"three", b"four", b"", b"six", b"one", b"two"]
    assert await store.generations("bob") == ["hash:8/8"]
    await store.close()
