"""Large users: a graph is built and saved in the background, and taken up again."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis as plain_redis
from remembering import SPACE, remember, until

from streams.settings import Settings
from streams.store import connect
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


DAMAGED = {
    "a bit flipped": lambda blob: blob[: len(blob) // 2] + b"\xaa" + blob[len(blob) // 2 + 1 :],
    "empty": lambda blob: b"",
    "half of it": lambda blob: blob[: len(blob) // 2],
    "the last byte missing": lambda blob: blob[:-1],
    "zeros": lambda blob: bytes(len(blob)),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED.keys())
async def test_f30_a_damaged_graph_is_set_aside_and_built_anew(
    store, large, redis_url, caplog, damaged
):
    for name in ("ada", "eve"):
        await remember(store, name, range(500))
        await large.get(name)
    await until(lambda: large.caretaker.saves == 2)
    large.forget("ada")
    large.forget("eve")
    with plain_redis.Redis.from_url(redis_url) as client:
        slot = store._keys("ada").graph(store.generation, ":a")
        client.hset(slot, "0", damaged(client.hget(slot, "0")))

    user, other = await large.get("ada"), await large.get("eve")

    assert (user.state.size, other.state.size, other.state.dense.kind) == (500, 500, "hnsw")
    assert caplog.text.count("a stored graph is set aside and built anew") == 1
    await until(lambda: large.caretaker.builds == 3 and large.caretaker.saves == 3)
    large.forget("ada")
    assert (await large.get("ada")).state.dense.kind == "hnsw"


async def test_f30_a_graph_that_redis_has_no_room_for_serves_and_is_saved_later(own_redis, caplog):
    store = await connect(Settings(redis=own_redis.url), str(SPACE))
    with ThreadPoolExecutor(1) as executor, plain_redis.Redis.from_url(own_redis.url) as client:
        users = HotUsers(store, SPACE, executor, hot_bytes=10**9, exact_limit=300)
        await remember(store, "ada", range(500))
        client.config_set("maxmemory", 1)

        user = await users.get("ada")
        await until(lambda: "a graph was not saved" in caplog.text)

        assert (user.state.dense.kind, users.caretaker.saves) == ("hnsw", 0)
        client.config_set("maxmemory", 0)
        await users.apply({"ada": await remember(store, "ada", range(500, 560))})
        await until(lambda: users.caretaker.saves == 1)
        await users.close()
    await store.close()


async def test_an_erased_user_gets_no_graph_from_a_build_under_way(store, large):
    await remember(store, "ada", range(1_000))
    await large.get("ada")

    large.forget("ada")
    await store.erase("ada", {})
    await large.caretaker.close()

    assert await store.graphs.load("ada") is None
