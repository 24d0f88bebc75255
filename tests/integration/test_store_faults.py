"""What the store does when Redis is ill: it says so, and acknowledges nothing it may lose."""

import asyncio
import random
import time
from collections import Counter

import pytest
import redis as plain_redis
from delaying_proxy import delayed

from streams.errors import (
    DurabilityError,
    StoreLostError,
    StoreRefusedError,
    StoreUnavailableError,
)
from streams.settings import Settings
from streams.store import MEMORY, Placed, Write, connect, field

GENERATION = "hash:8/8"


def writes(user_id: str, count: int, size: int = 10) -> list[Write]:
    return [Write(user_id, field(MEMORY, f"m{i}"), 1, i, b"x" * size) for i in range(count)]


def settings_of(url: str, **fields: object) -> Settings:
    return Settings.of({"redis": url, "redis_timeout": 1.0, **fields})


async def test_a_killed_server_has_lost_nothing_that_was_acknowledged(own_redis):
    store = await connect(settings_of(own_redis.url), GENERATION)
    acknowledged = []
    for write in writes("ada", 50):
        acknowledged += await store.put([write])

    own_redis.kill()
    with pytest.raises(StoreUnavailableError):
        await store.put(writes("ada", 1))
    own_redis.start()

    assert await store.put(writes("ada", 50)) == acknowledged  # by scripts that it had to learn
    assert [value.sequence for value in await store.get_many("ada", [b"mm0", b"mm49"])] == [1, 50]
    await store.close()


async def test_f44_a_full_server_acknowledges_nothing_and_goes_on_when_it_has_room(own_redis):
    store = await connect(settings_of(own_redis.url), GENERATION)
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", 1)

        with pytest.raises(StoreUnavailableError, match="OOM"):
            await store.put(writes("ada", 3))

        client.config_set("maxmemory", 0)
    assert await store.get_many("ada", [b"mm0"]) == [None]
    assert await store.put(writes("ada", 1)) == [Placed(1, 1)]
    await store.close()


async def test_f44_a_flushed_server_is_not_taken_for_an_empty_one(own_redis):
    store = await connect(settings_of(own_redis.url), GENERATION)
    await store.put(writes("ada", 3))
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.flushall()

    with pytest.raises(StoreLostError, match="flushed"):
        await store.put(writes("ada", 1))
    with pytest.raises(StoreLostError, match="flushed"):
        _ = [page async for page in store.read("ada")]
    await store.close()


@pytest.mark.parametrize(
    ("option", "value", "advice"),
    [
        ("appendonly", "no", "set appendonly yes"),
        ("maxmemory-policy", "allkeys-lru", "set noeviction"),
    ],
)
async def test_f44_a_server_that_may_lose_writes_is_refused_unless_allowed(
    own_redis, option, value, advice
):
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.config_set(option, value)

    with pytest.raises(DurabilityError, match=advice):
        await connect(settings_of(own_redis.url), GENERATION)
    store = await connect(settings_of(own_redis.url, allow_volatile_redis=True), GENERATION)

    assert await store.put(writes("ada", 1)) == [Placed(1, 1)]
    await store.close()


async def test_a_server_that_syncs_late_must_be_able_to_say_when_it_has(own_redis):
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.config_set("appendfsync", "everysec")
        version = tuple(int(n) for n in client.info("server")["redis_version"].split(".")[:2])

    if version >= (7, 2):
        store = await connect(settings_of(own_redis.url, redis_timeout=5.0), GENERATION)
        assert await store.put(writes("ada", 2)) == [Placed(1, 1), Placed(2, 2)]
        await store.close()
    else:
        with pytest.raises(DurabilityError, match="set always"):
            await connect(settings_of(own_redis.url), GENERATION)


async def test_a_wrong_login_is_refused_at_once(own_redis):
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.config_set("requirepass", "right")
    url = own_redis.url.replace("//", "//:wrong@")
    started = time.monotonic()

    with pytest.raises(StoreRefusedError, match="login"):
        await connect(settings_of(url), GENERATION)

    assert time.monotonic() - started < 1.0


async def test_a_missing_right_is_no_outage(own_redis):
    store = await connect(settings_of(own_redis.url), GENERATION)
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.acl_setuser("default", enabled=True, nopass=True, commands=["-evalsha"])

        with pytest.raises(StoreRefusedError, match="rights"):
            await store.put(writes("ada", 1))
    await store.close()


async def test_f42_a_stuck_server_costs_one_timeout_and_not_more(own_redis):
    store = await connect(settings_of(own_redis.url, redis_timeout=0.3), GENERATION)
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.execute_command("CLIENT", "PAUSE", 5_000, "WRITE")
    started = time.monotonic()

    with pytest.raises(StoreUnavailableError):
        await store.put(writes("ada", 1))

    assert time.monotonic() - started < 2.0
    await store.close()


async def test_f41_cancelled_calls_never_hand_over_a_strangers_data(
    redis_url, store_settings, store, monkeypatch
):
    users = [f"user-{i}" for i in range(20)]
    await store.put([Write(user, b"mm", 1, 1, user.encode()) for user in users])
    monkeypatch.setattr("streams.store.connection.POOL_SIZE", 8)
    chance, foreign, ends = random.Random(7), [], Counter()

    async with delayed(redis_url, seconds=0.02) as url:
        slow = await connect(
            Settings(redis=url, namespace=store_settings.namespace, redis_timeout=5.0), GENERATION
        )

        async def read(user: str, patience: float) -> None:
            try:
                async with asyncio.timeout(patience):
                    if chance.random() < 0.2:  # a write, so that pipelines differ in length
                        await slow.put([Write(user, b"m2", None, 2, user.encode())] * 3)
                    (value,) = await slow.get_many(user, [b"mm"])
            except TimeoutError:
                ends["cancelled"] += 1
                return
            ends["answered"] += 1
            if value.payload != user.encode():
                foreign.append((user, value.payload))

        for _ in range(20):
            names = chance.choices(users, k=50)
            await asyncio.gather(*(read(name, chance.uniform(0.0, 0.2)) for name in names))
        afterwards = [(await slow.get_many(user, [b"mm"]))[0] for user in users * 3]
        await slow.close()

    assert foreign == []
    assert ends.total() == 1_000
    assert min(ends.values()) > 100
    assert [value.payload for value in afterwards] == [user.encode() for user in users * 3]
