"""On Redis and in memory: bytes of a memory and of a user, and how long a cold user takes."""

import asyncio
import gc
import tracemalloc
from collections.abc import Sequence
from itertools import chain

import numpy as np
import redis

from benchmarks.bench import Bench
from benchmarks.data import memories, subjects, vectors
from benchmarks.report import Cell, Result, Target
from benchmarks.timing import timed
from seedmem.memory import Memory, Record
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.vectors import VectorSpace
from streams.loader import Loader
from streams.records import encode, field_of
from streams.store import Page, RecordStore, Write, connect

SPACE = VectorSpace("given", 384)
TEN = 10  # memories of a small user
BATCH = 64  # writes of one call, as a worker's batch
LOADS = 15
ALONE, ABOUT = "alone", "about"  # users: memories only; memories and subjects


def measure(bench: Bench) -> list[Result]:
    """Return what is stored, what is held, and the milliseconds between."""
    return asyncio.run(_measure(bench))


async def _measure(bench: Bench) -> list[Result]:
    settings = bench.settings(encoder="given:384")
    store = await connect(settings, str(SPACE))
    known = memories(bench.talk, vectors(bench.sizes.memories, SPACE.dim))
    about = subjects(bench.sizes.subjects, SPACE.dim, known)
    both: list[Record] = [*known, *about]
    bench.progress("storage: writing")
    rate = await _written(store, [_write(f"rate-{n % 8}", r, n) for n, r in enumerate(known)])
    await _written(store, [_write(ALONE, record, n) for n, record in enumerate(known)])
    await _written(store, [_write(ABOUT, record, n) for n, record in enumerate(both)])
    small = [(f"ten-{n}", known[at % len(known)]) for n in range(bench.sizes.small_users)
             for at in range(TEN * n, TEN * (n + 1))]  # fmt: skip
    await _written(store, [_write(user, memory, n) for n, (user, memory) in enumerate(small)])
    pages = {user: [page async for page in store.read(user)] for user in (ALONE, ABOUT, "ten-0")}
    results = [_stored(bench, known, rate, settings.namespace), _held(bench, pages)]
    results.append(await _cold(bench, store))
    await store.close()
    return results


def _write(user_id: str, record: Record, arrival: int) -> Write:
    hashes = hash_terms(terms(record.text)) if isinstance(record, Memory) else None
    return Write(user_id, field_of(record), None, arrival, encode(record, hashes))


async def _written(store: RecordStore, made: Sequence[Write]) -> float:
    """Return writes per second, in batches, one after another."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    for start in range(0, len(made), BATCH):
        await store.put(made[start : start + BATCH])
    return len(made) / (loop.time() - started)


def _stored(bench: Bench, known: Sequence[Memory], rate: float, namespace: str) -> Result:
    sizes = _sizes(bench, namespace)
    alone = next(size for count, size in sizes.values() if count == len(known) + 1)
    ten = [size for count, size in sizes.values() if count == TEN + 1]
    users = bench.sizes.small_users
    text = float(np.mean([len(memory.text.encode()) for memory in known]))
    each = alone / len(known)
    rows: list[list[Cell]] = [
        ["a memory among many", each],
        ["the vector in it (float16)", 2.0 * SPACE.dim],
        ["the text in it", text],
        [f"a user of {TEN}, all keys", (sum(ten) + _small_metas(bench, namespace)) / users],
        ["durable writes/s, batches of 64 over 8 users", rate],
    ]
    note = (
        f"MEMORY USAGE of Redis's keys; {len(known):,} memories of {SPACE.dim} dimensions, "
        f"{users:,} users of {TEN}; {bench.talk.source}. Every write is on Redis's disk."
    )
    target = Target(claim="KB stored per memory with text, 384 dimensions",
                    value=each / 1000, bound=1.2)  # fmt: skip
    return Result(name="stored", title="Bytes stored", note=note, columns=("what", "bytes"),
                  rows=rows, targets=[target])  # fmt: skip


def _sizes(bench: Bench, namespace: str) -> dict[bytes, tuple[int, int]]:
    """Return fields and bytes of every hash of records."""
    with redis.Redis.from_url(bench.redis) as client:
        keys = list(client.scan_iter(f"{namespace}*:records", count=1000))
        return {key: (client.hlen(key), client.memory_usage(key, samples=0)) for key in keys}


def _small_metas(bench: Bench, namespace: str) -> int:
    """Return the bytes of what small users have beside their records."""
    with redis.Redis.from_url(bench.redis) as client:
        total = 0
        for key in client.scan_iter(f"{namespace}*:meta", count=1000):
            if (client.hget(key, "user") or b"").startswith(b"ten-"):
                total += client.memory_usage(key, samples=0)
        return total


def _held(bench: Bench, pages: dict[str, list[Page]]) -> Result:
    names = {
        ALONE: f"{bench.sizes.memories:,} memories",
        ABOUT: f"{bench.sizes.memories:,} memories and {bench.sizes.subjects} subjects",
        "ten-0": f"{TEN} memories",
    }
    rows: list[list[Cell]] = []
    for user, name in names.items():
        state, allocated = _traced(pages[user])
        rows.append([name, float(state.nbytes), float(allocated)])
    note = f"{SPACE.dim} dimensions; `counted` is what the byte budget of hot users counts."
    return Result(name="held", title="Bytes of a hot user", note=note,
                  columns=("user", "counted", "allocated (tracemalloc)"), rows=rows)  # fmt: skip


def _traced(pages: list[Page]) -> tuple[UserState, int]:
    """Return a user's state, and the bytes that Python and numpy hold for it."""
    _ready(pages)  # what is cached for all users is here now
    gc.collect()
    tracemalloc.start()
    state = _ready(pages)
    gc.collect()
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return state, allocated


def _ready(pages: Sequence[Page]) -> UserState:
    """Return the state of a user whose pages are here: what is left to do after fetching."""
    loader, state = Loader(SPACE), UserState(SPACE)
    for page in pages:
        loader.add(page)
    loader.fill(state)
    return state


async def _cold(bench: Bench, store: RecordStore) -> Result:
    times: dict[str, list[tuple[float, float, float]]] = {ALONE: [], ABOUT: []}
    loop = asyncio.get_running_loop()
    for user in chain.from_iterable([times] * LOADS):
        started = loop.time()
        pages = [page async for page in store.read(user)]
        fetched = loop.time() - started
        times[user].append((fetched, *timed(_ready, pages)))
    found = {user: np.median(each, axis=0) * 1e3 for user, each in times.items()}
    about = f"{bench.sizes.memories:,} memories"
    rows: list[list[Cell]] = [
        [about, *found[ALONE].tolist()],
        [f"{about} and {bench.sizes.subjects} subjects", *found[ABOUT].tolist()],
    ]
    note = f"Median of {LOADS} loads from Redis, {SPACE.dim} dimensions; {bench.talk.source}."
    target = Target(claim="ms to make a cold user hot, beyond fetching",
                    value=float(found[ALONE][1]), bound=30.0)  # fmt: skip
    return Result(name="cold", title="A cold user becomes hot", note=note,
                  columns=("user", "fetching ms", "making ready ms", "of it CPU ms"),
                  rows=rows, targets=[target])  # fmt: skip
