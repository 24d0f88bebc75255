"""F34: updates and deletions without end: what is live decides how much is kept."""

import gc
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import psutil
import pytest
import redis as plain_redis
from remembering import SPACE, remember

from seedmem.memory import Deleted, Kind, Memory
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.vectors import VectorSpace, unit_rows
from streams.records import encode, field_of
from streams.settings import Settings
from streams.store import SEQUENCE, RecordStore, Write, connect, parse

LIVE = 1_000  # memories
HEAP = 8_000_000  # bytes that a process keeps for what it needs now and then
WIDE = VectorSpace("test", 384)


async def bury(store: RecordStore, user_id: str, numbers: Sequence[int], arrival: int) -> None:
    tombstones = [Deleted(kind=Kind.MEMORY, id=f"m{number}", sequence=0) for number in numbers]
    await store.put([Write(user_id, field_of(t), None, arrival, encode(t)) for t in tombstones])


async def stored_bytes(store: RecordStore, user_id: str) -> int:
    pages = [page async for page in store.read(user_id)]
    return sum(len(name) + len(value) for page in pages for name, value in page.items())


async def test_f34_stored_records_stay_as_many_and_as_long_however_often_they_change(store):
    await remember(store, "fresh", range(100), text="words of usual length")
    fresh = await stored_bytes(store, "fresh")

    for arrival in range(1, 31):
        await remember(store, "ada", range(100), arrival=arrival, text="words of usual length")
    updated = await stored_bytes(store, "ada")
    for arrival in range(31, 61, 2):
        await bury(store, "ada", range(100), arrival)
        buried = await stored_bytes(store, "ada")
        await remember(store, "ada", range(100), arrival + 1, text="words of usual length")

    assert updated < 1.2 * fresh  # longer numbers in the headers
    assert await stored_bytes(store, "ada") < 1.2 * fresh
    assert buried < 0.5 * fresh


async def test_f34_deleted_text_and_vectors_leave_the_disk_and_tombstones_stay(own_redis, tmp_path):
    store = await connect(Settings(redis=own_redis.url), str(SPACE))
    entries = await remember(store, "ada", range(50), text="a secret of ada's")
    vectors = [record.vector.astype("<f2").tobytes() for record, _ in entries]
    await remember(store, "ada", range(50, 60), text="what she keeps")
    on_disk = files_of(tmp_path)
    assert on_disk.count(b"a secret of ada's") == 50

    await bury(store, "ada", range(50), arrival=2)
    with plain_redis.Redis.from_url(own_redis.url) as client:
        client.config_set("rdbcompression", "no")  # so that a text can be seen
        client.bgrewriteaof()
        while client.info("persistence")["aof_rewrite_in_progress"]:
            pass

    on_disk = files_of(tmp_path)
    assert b"secret" not in on_disk
    assert not any(vector in on_disk for vector in vectors)
    assert on_disk.count(b"what she keeps") == 10
    held = [parse(v) async for p in store.read("ada") for n, v in p.items() if n != SEQUENCE]
    assert sum(not value.payload for value in held) == 50
    await store.close()


def files_of(folder) -> bytes:
    """Return all that is on the disk of a Redis."""
    return b"".join(f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file())


def sizes(exact_limit: int, rounds: int) -> tuple[int, int, int]:
    """Return how large a state of ``LIVE`` memories is after ``rounds`` of change, in bytes.

    What the process grew by, the state's own count, and its snapshot; its owner builds
    graphs as they are asked for.
    """
    vectors = unit_rows(np.random.default_rng(34).normal(size=(LIVE, WIDE.dim)))
    words = hash_terms(terms("some words that a memory of usual length has in it"))
    before, state = resident(), UserState(WIDE, exact_limit=exact_limit)
    count = iter(range(1, 10**9))

    def tell() -> None:
        for start in range(0, LIVE, 50):
            numbers = range(start, start + 50)
            state.load([(memory(n, vectors[n], next(count)), words) for n in numbers])
            grow(state)

    def forget() -> None:
        gone = [Deleted(kind=Kind.MEMORY, id=f"m{n}", sequence=next(count)) for n in range(LIVE)]
        state.load([(one, None) for one in gone])

    tell()
    for number in range(rounds):
        if number % 2:
            forget()
        tell()
    return resident() - before, state.nbytes, len(state.dense.snapshot() or b"none")


def memory(number: int, vector: np.ndarray, sequence: int) -> Memory:
    text = f"some words that memory {number} of usual length has in it"
    return Memory(
        memory_id=f"m{number}", text=text, vector=vector, sequence=sequence, born=sequence
    )


def grow(state: UserState) -> None:
    if state.dense.needs_graph:
        build = state.dense.plan_build()
        build.run()
        while not state.dense.adopt(build):
            build.run()


def resident() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("exact_limit", "rounds"), [(5_000, 100), (400, 10)], ids=["exact", "hnsw"]
)
def test_f34_memory_and_snapshot_stay_within_twice_a_fresh_index(exact_limit, rounds):
    fresh, changed = (in_a_process_of_its_own(exact_limit, n) for n in (0, rounds))

    assert changed[0] < 2 * fresh[0] + HEAP, (fresh, changed)  # 150 rounds kept would be 300 MB
    assert changed[1] < 2 * fresh[1]
    assert changed[2] < 2 * fresh[2]


def in_a_process_of_its_own(exact_limit: int, rounds: int) -> tuple[int, int, int]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(sizes, exact_limit, rounds).result()
