"""Large users: a graph is built and saved in the background, and taken up again."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis as plain_redis
from remembering import SPACE, remember, until

from streams.users import HotUsers


@pytest.fixture
async def large(store) -> AsyncIterator[HotUsers]:
    with ThreadPoolExecutor(1) as executor:
        users = HotUsers(store, SPACE, executor, hot_bytes=10**9, exact_limit=300)
        yield users
        await users.close()


async def test_a_large_user_gets_a_graph_that_the_next_load_takes_up(store, large):
    await remember(store, "ada", range(1_000))
    user = await large.get("ada")
    assert user.state.dense.kind == "exact"
    await until(lambda: large.caretaker.saves == 1)
    assert user.state.dense.kind == "hnsw"
    large.forget("ada")

    again = await large.get("ada")

    assert again.state.dense.kind == "hnsw"
    assert large.caretaker.builds == 1
    rows, cosines = again.state.dense.search(again.state.vectors[7], 1)
    assert (rows.tolist(), round(float(cosines[0]), 3)) == ([7], 1.0)


async def test_f28_growth_is_saved_again(store, large):
    await remember(store, "ada", range(1_000))
    await large.get("ada")
    await until(lambda: large.caretaker.saves == 1)

    await large.apply({"ada": await remember(store, "ada", range(1_000, 1_150))})

    await until(lambda: large.caretaker.saves == 2)
    assert large.caretaker.builds == 1


async def test_a_damaged_graph_is_set_aside_and_built_anew(store, large, redis_url, store_settings):
    await remember(store, "ada", range(1_000))
    await large.get("ada")
    await until(lambda: large.caretaker.saves == 1)
    large.forget("ada")
    with plain_redis.Redis.from_url(redis_url) as client:
        (slot,) = client.keys(f"{store_settings.namespace}*:graph:a")
        blob = bytearray(client.hget(slot, "0"))
        blob[len(blob) // 2] ^= 1
        client.hset(slot, "0", bytes(blob))

    user = await large.get("ada")

    assert user.state.size == 1_000
    await until(lambda: large.caretaker.builds == 2 and large.caretaker.saves == 2)
    large.forget("ada")
    assert (await large.get("ada")).state.dense.kind == "hnsw"


async def test_an_erased_user_gets_no_graph_from_a_build_under_way(store, large):
    await remember(store, "ada", range(1_000))
    await large.get("ada")

    large.forget("ada")
    await store.erase("ada", {})
    await large.caretaker.close()

    assert await store.graphs.load("ada") is None
