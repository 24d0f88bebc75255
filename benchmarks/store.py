"""Durable writes per second, bytes per memory, and milliseconds until a cold user is ready.

    python benchmarks/store.py

Against a Redis of its own with ``appendfsync always``. Texts have about 100
characters, vectors 384 dimensions, as the default encoder makes them.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import redis

from seedmem.memory import Memory
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.vectors import VectorSpace, unit_rows
from streams.loader import Loader
from streams.local import LocalRedis
from streams.records import encode, field_of
from streams.settings import Settings
from streams.store import RecordStore, Write, connect

SPACE = VectorSpace("minilm", 384)
MEMORIES = 2_200
BATCH = 64
WORDS = ["river", "brother", "house", "garden", "winter", "letter", "kite", "market", "bread"]


def writes(users: int) -> list[Write]:
    """Return one write for each memory, spread over ``users``."""
    random = np.random.default_rng(0)
    vectors = unit_rows(random.normal(size=(MEMORIES, SPACE.dim)))
    made = []
    for number, vector in enumerate(vectors):
        text = f"Ada: on day {number} we talked about the " + " ".join(random.choice(WORDS, 10))
        memory = Memory(
            memory_id=f"memory-{number}",
            text=text,
            vector=vector,
            sequence=0,
            born=0,
            created_at=1.7e9 + number,
            session_id=f"session-{number // 20}",
        )
        payload = encode(memory, hash_terms(terms(text)))
        made.append(Write(f"{users}-{number % users}", field_of(memory), None, number, payload))
    return made


async def written(store: RecordStore, made: Sequence[Write]) -> float:
    """Return writes per second, in batches, one after another."""
    started = time.perf_counter()
    for start in range(0, len(made), BATCH):
        await store.put(made[start : start + BATCH])
    return len(made) / (time.perf_counter() - started)


async def loaded(store: RecordStore, user_id: str) -> tuple[float, float]:
    """Return milliseconds until the user's pages are here, and then until the user is ready."""
    started = time.perf_counter()
    pages = [page async for page in store.read(user_id)]
    fetched = time.perf_counter()
    loader, state = Loader(SPACE), UserState(SPACE)
    for page in pages:
        loader.add(page)
    state.load(loader.entries())
    return (fetched - started) * 1e3, (time.perf_counter() - fetched) * 1e3


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory, LocalRedis(Path(directory)) as server:
        store = await connect(Settings(redis=server.url), str(SPACE))
        for users in (1, 8, 64):
            rate = await written(store, writes(users))
            print(f"{rate:8.0f} durable writes/s, batches of {BATCH} over {users} users")  # noqa: T201
        times = np.array([await loaded(store, "1-0") for _ in range(7)])
        fetch, ready = np.median(times, axis=0)
        print(f"{fetch:8.1f} ms to fetch {MEMORIES} memories, {ready:.1f} ms to make them hot")  # noqa: T201
        with redis.Redis.from_url(server.url) as client:
            [key] = [k for k in client.keys("*:records") if client.hlen(k) > MEMORIES]
            size = client.memory_usage(key, samples=0)
        print(f"{size / MEMORIES:8.0f} bytes stored per memory (MEMORY USAGE)")  # noqa: T201
        await store.close()


asyncio.run(main())
