"""Hot users on a real store: one load for all, every write seen, nothing kept for too long."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from remembering import SPACE, ids, memory, remember, texts

from seedmem.memory import Deleted, Kind
from streams.errors import StoreUnavailableError
from streams.records import encode, field_of
from streams.settings import Settings
from streams.store import Write, connect
from streams.users import HotUsers


@pytest.fixture
async def users(store) -> AsyncIterator[HotUsers]:
    with ThreadPoolExecutor(1) as executor:
        users = HotUsers(store, SPACE, executor, hot_bytes=10**9, exact_limit=5_000)
        yield users
        await users.close()


async def test_a_touched_user_has_what_was_stored_over_many_pages(store, users):
    await remember(store, "ada", range(1_700))
    await remember(store, "eve", [1_800])

    user = await users.get("ada")

    assert ids(user) == {f"m{number}" for number in range(1_700)}
    assert (users.loads, users.damaged, len(users)) == (1, 0, 1)
    assert users.nbytes == user.nbytes > 0


async def test_a_loaded_memory_is_bit_for_bit_the_applied_one(store, users):
    (entry,) = await remember(store, "ada", [5])
    user = await users.get("ada")

    assert user.state.vectors[user.state.row_of("m5")].tolist() == entry[0].vector.tolist()


async def test_an_unknown_user_is_empty(users):
    assert (await users.get("nobody")).state.size == 0


async def test_a_hot_user_sees_writes_and_a_cold_one_costs_nothing(store, users):
    await users.apply({"cold": await remember(store, "cold", [1])})
    user = await users.get("ada")

    await users.apply({"ada": await remember(store, "ada", [1, 2])})

    assert ids(user) == {"m1", "m2"}
    assert "cold" not in users


async def test_a_deleted_text_is_gone_from_the_hot_user_and_after_a_reload(store, users):
    entries = await remember(store, "ada", [1], text="secret")
    user = await users.get("ada")
    tombstone = Deleted(kind=Kind.MEMORY, id="m1", sequence=2)
    await store.put([Write("ada", field_of(tombstone), None, 2, encode(tombstone))])

    await users.apply({"ada": [(tombstone, None)]})
    await users.apply({"ada": entries})  # late again

    assert texts(user) == set()
    users.forget("ada")
    assert texts(await users.get("ada")) == set()


async def test_callers_who_come_together_share_one_load(store, users):
    await remember(store, "ada", range(10))

    found = await asyncio.gather(*(users.get("ada") for _ in range(50)))

    assert users.loads == 1
    assert all(user is found[0] for user in found)


async def test_a_cancelled_caller_does_not_cancel_the_others(store, users):
    await remember(store, "ada", range(10))
    first, second = asyncio.create_task(users.get("ada")), asyncio.create_task(users.get("ada"))
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).state.size == 10
    assert users.loads == 1


async def test_writes_during_a_load_are_in_it(store, users):
    await remember(store, "ada", range(1_200))
    loading = asyncio.create_task(users.get("ada"))
    for number in range(1_200, 1_300):
        await users.apply({"ada": await remember(store, "ada", [number])})

    user = await loading

    assert ids(user) == {f"m{number}" for number in range(1_300)}


async def test_a_failed_load_fails_all_who_wait_and_the_next_tries_again(own_redis):
    store = await connect(Settings(redis=own_redis.url, redis_timeout=0.5), str(SPACE))
    await remember(store, "ada", [1])
    with ThreadPoolExecutor(1) as executor:
        users = HotUsers(store, SPACE, executor, hot_bytes=10**9, exact_limit=5_000)
        own_redis.kill()

        failed = await asyncio.gather(*(users.get("ada") for _ in range(3)), return_exceptions=True)
        own_redis.start()

        assert [type(error) for error in failed] == [StoreUnavailableError] * 3
        assert ids(await users.get("ada")) == {"m1"}
        await users.close()
    await store.close()


async def test_the_least_recently_used_goes_first_and_the_last_touched_stays(store, users):
    for name in ("a", "b", "c"):
        await remember(store, name, range(50))
    one = (await users.get("a")).nbytes
    users.forget("a")
    with ThreadPoolExecutor(1) as executor:
        few = HotUsers(store, SPACE, executor, hot_bytes=int(2.5 * one), exact_limit=5_000)
        for name in ("a", "b", "a", "c"):
            await few.get(name)

        assert [name in few for name in ("a", "b", "c")] == [True, False, True]
        assert (few.evictions, few.nbytes <= 2.5 * one) == (1, True)
        await few.apply({"c": await remember(store, "c", range(50, 1_000))})
        assert [name in few for name in ("a", "c")] == [False, True]
        await few.close()
        assert few.nbytes == 0


async def test_a_dropped_user_is_loaded_anew_and_a_load_under_way_is_not_kept(store, users):
    await remember(store, "ada", [1])
    await users.get("ada")
    loading = asyncio.create_task(users.get("bob"))
    await asyncio.sleep(0)

    users.drop(lambda user_id: user_id in {"ada", "bob"})
    await loading
    await remember(store, "ada", [2])  # by the next owner

    assert len(users) == 0
    assert ids(await users.get("ada")) == {"m1", "m2"}


async def test_a_user_whose_state_cannot_take_a_record_is_let_go_and_reloaded(store, users):
    await remember(store, "ada", [1])
    await users.get("ada")
    wrong = replace(memory(2), sequence=9, vector=np.ones(3, dtype=np.float32))

    await users.apply({"ada": [(wrong, None)]})

    assert (users.failures, "ada" in users) == (1, False)
    assert ids(await users.get("ada")) == {"m1"}
