"""Hot users and their adapters: swapped between queries, and never one that cannot be trusted."""

import pickle
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from remembering import SPACE, remember

from seedmem.adapt import Adapter, to_bytes
from seedmem.vectors import VectorSpace
from streams.store import RecordStore, Settlement
from streams.users import HotUser, HotUsers


@pytest.fixture
async def users(store: RecordStore) -> AsyncIterator[HotUsers]:
    with ThreadPoolExecutor(1) as executor:
        users = HotUsers(store, SPACE, executor, hot_bytes=10**9, exact_limit=5_000)
        yield users
        await users.close()


def adapter(version: int, *, dim: int = 8, hidden: int = 4) -> Adapter:
    draw = np.random.default_rng(version).normal
    return Adapter(
        space=VectorSpace("hash:8", dim),
        version=version,
        alpha=0.3,
        w1=draw(size=(hidden, dim)),
        b1=draw(size=hidden),
        w2=draw(size=(dim, hidden)),
        b2=draw(size=dim),
    )


def stored(version: int, *, user: str = "ada", **shape: int) -> bytes:
    return to_bytes(adapter(version, **shape), user_id=user)


async def ship(store: RecordStore, raw: bytes, user: str = "ada") -> None:
    since = await store.adapters.standing(user)
    assert await store.adapters.settle(user, since, Settlement(since.newest + 1, b"{}", raw))


def version_of(user: HotUser) -> int:
    return user.adapter.version if user.adapter else 0


async def test_a_user_is_loaded_with_the_adapter_that_serves(store, users):
    await remember(store, "ada", [1])
    await ship(store, stored(1))

    user = await users.get("ada")

    query = np.eye(8, dtype=np.float32)[0]
    assert user.adapter is not None
    np.testing.assert_array_equal(user.adapter.apply(query), adapter(1).apply(query))
    assert user.nbytes == user.state.nbytes + user.adapter.nbytes
    assert users.nbytes == user.nbytes


async def test_a_promotion_reaches_a_hot_user_and_leaves_a_cold_one_alone(store, users):
    await remember(store, "ada", [1])
    await remember(store, "eve", [1])
    user = await users.get("ada")
    await ship(store, stored(1))

    await users.swap_adapter("ada")
    await users.swap_adapter("eve")

    assert (version_of(user), "eve" in users) == (1, False)
    assert users.nbytes == user.nbytes


async def test_going_back_to_the_identity_takes_the_adapter_away(store, users):
    await remember(store, "ada", [1])
    await ship(store, stored(1))
    user = await users.get("ada")

    since = await store.adapters.standing("ada")
    await store.adapters.settle("ada", since, Settlement(0, b"{}"))
    await users.swap_adapter("ada")

    assert user.adapter is None


async def test_a_version_above_the_current_one_does_not_serve(store, users):
    await remember(store, "ada", [1])
    await ship(store, stored(1))
    await ship(store, stored(2))

    since = await store.adapters.standing("ada")
    await store.adapters.settle("ada", since, Settlement(1, b"{}"))

    assert version_of(await users.get("ada")) == 1
    assert await store.adapters.versions("ada") == [2, 1]


def _not_finite() -> bytes:
    raw = stored(2)
    return raw[:-18] + np.float16("nan").tobytes() + raw[-16:]


HOSTILE = {
    "empty in all but name": b"x",
    "half-written": stored(2)[: len(stored(2)) // 2],
    "one bit flipped": bytes([*stored(2)[:-20], stored(2)[-20] ^ 1, *stored(2)[-19:]]),
    "a pickle": pickle.dumps({"w1": 1}),
    "of another user": stored(2, user="eve"),
    "of another dimension": stored(2, dim=16),
    "stale, of another version": stored(1),
    "with a weight that is no number": _not_finite(),
    "with a header that claims the memory": b"SEEDADPT\xff\xff\xff\xff" + bytes(64),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
async def test_f47_a_file_that_cannot_be_trusted_leaves_the_version_before(
    store, users, caplog, raw
):
    await remember(store, "ada", [1])
    await ship(store, stored(1))
    await ship(store, raw)

    user = await users.get("ada")

    assert (version_of(user), user.state.size) == (1, 1)
    assert "adapter version 2 is set aside and does not serve" in caplog.text
    assert await store.adapters.versions("ada") == [1]


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
async def test_f47_without_a_version_before_it_the_identity_serves(store, users, raw):
    await remember(store, "ada", [1])
    await store.adapters.settle("ada", await store.adapters.standing("ada"), Settlement(0, b"{}"))
    since = await store.adapters.standing("ada")
    await store.adapters.settle("ada", since, Settlement(2, b"{}", raw))

    user = await users.get("ada")

    assert (user.adapter, user.state.size) == (None, 1)
    assert await store.adapters.versions("ada") == []


async def test_f47_what_is_set_aside_does_not_pile_up(store, users):
    await remember(store, "ada", [1])
    for _ in range(20):
        await ship(store, b"junk")
        users.forget("ada")
        await users.get("ada")

    fields = await store._session.run([("HKEYS", store.adapters._adapters(store._keys("ada")))])

    assert len(fields[0]) <= 6  # current, newest, damaged, and notes of three versions
