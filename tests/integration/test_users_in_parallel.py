"""F27, F28: one large user that grows while it is searched, built anew and saved."""

import asyncio
import multiprocessing
import random
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from remembering import SPACE, until

from seedmem.memory import Deleted, Kind, Memory, key_of
from seedmem.user import UserState
from seedmem.vectors import Vector, pack, unit_rows, unpack
from streams.caretaker import snapshot
from streams.loader import Entry
from streams.records import encode, field_of
from streams.store import Graph, RecordStore, Write
from streams.users import HotUser, HotUsers

EXACT_LIMIT = 300
BATCH = 50  # new memories of one write; some older ones are changed or deleted with them
READERS = 3
WITHOUT_WORDS = np.zeros(0, dtype=np.uint32)  # known terms, so that no text is read again


@pytest.fixture
async def large(store) -> AsyncIterator[HotUsers]:
    with ThreadPoolExecutor(2) as executor:
        users = HotUsers(store, SPACE, executor, hot_bytes=10**9, exact_limit=EXACT_LIMIT)
        yield users
        await users.close()


class Writer:
    """Makes memories of ``ada`` durable and applies them, as the agents do."""

    def __init__(self, store: RecordStore, users: HotUsers) -> None:
        self._store, self._users = store, users
        self._chance, self._rows = random.Random(27), np.random.default_rng(27)
        self._made = 0
        self.live: dict[str, Vector] = {}
        """What every search must find."""
        self.entries: list[Entry] = []
        """All that was applied."""

    async def write(self) -> None:
        """Add a batch; change a tenth as many, and delete as many again."""
        known = list(self.live)
        changed = self._chance.sample(known, min(len(known), BATCH // 10))
        gone = self._chance.sample(known, min(len(known), BATCH // 10))
        gone = [id for id in gone if id not in changed]
        for id in (*changed, *gone):
            del self.live[id]  # until it is applied, what is found is either
        fresh = [f"m{self._made + n}" for n in range(BATCH)]
        self._made += BATCH
        drafts = [self._draft(id) for id in (*fresh, *changed)]
        tombstones = [Deleted(kind=Kind.MEMORY, id=id, sequence=0) for id in gone]
        records = [*drafts, *tombstones]
        writes = [Write("ada", field_of(one), None, self._made, encode(one)) for one in records]
        placed = await self._store.put(writes)
        entries: list[Entry] = []
        for one, place in zip(records, placed, strict=True):
            born = {"born": place.born} if isinstance(one, Memory) else {}
            entries.append((replace(one, sequence=place.sequence, **born), WITHOUT_WORDS))
        await self._users.apply({"ada": entries})
        self.entries += entries
        self.live |= {one.memory_id: one.vector for one, _ in entries if isinstance(one, Memory)}

    def _draft(self, id: str) -> Memory:
        [row] = unit_rows(self._rows.normal(size=(1, SPACE.dim)))
        vector = unpack(pack(row), SPACE.dim)
        return Memory(memory_id=id, text="text", vector=vector, sequence=0, born=0)


def first_hit(user: HotUser, vector: Vector) -> str:
    with user.lock:
        [row], _ = user.state.dense.search(vector, 1)
        return user.state.memory(int(row)).memory_id


@pytest.mark.parametrize(
    "seconds", [3.0, pytest.param(60.0, marks=[pytest.mark.slow, pytest.mark.timeout(240)])]
)
async def test_f27_a_user_is_written_searched_and_grown_at_once(store, large, seconds):
    writer, user = Writer(store, large), await large.get("ada")
    await writer.write()
    missed, asked, ends = [], 0, time.monotonic() + seconds
    loop, chance = asyncio.get_running_loop(), random.Random(28)

    async def read(pool: Executor) -> None:
        nonlocal asked
        while time.monotonic() < ends:
            id, vector = chance.choice(list(writer.live.items()))
            found = await loop.run_in_executor(pool, first_hit, user, vector)
            if found != id and id in writer.live:
                missed.append((id, found))
            asked += 1

    async def write() -> None:
        while time.monotonic() < ends:
            await writer.write()

    with ThreadPoolExecutor(READERS) as pool:
        await asyncio.gather(write(), *(read(pool) for _ in range(READERS)))
    await until(lambda: large.caretaker.saves > 0)

    assert (missed, large.failures, large.evictions) == ([], 0, 0)
    assert asked > 100
    assert (user.state.size, user.state.dense.kind) == (len(writer.live), "hnsw")
    assert large.caretaker.builds > 0


def size_at(sequence: int, entries: Sequence[Entry]) -> int:
    """Return how many memories there were after write number ``sequence``."""
    newest = {key_of(one)[1]: one for one, _ in entries if one.sequence <= sequence}
    return sum(isinstance(one, Memory) for one in newest.values())


def replayed(
    graph: Graph, entries: Sequence[Entry], query: Vector
) -> tuple[int, str, list[tuple[str, float]]]:
    """Load a snapshot and then what came after it: what a process that starts does.

    Returns its number of memories, what searched them, and the ten best after the replay.
    """
    state = UserState(SPACE, exact_limit=EXACT_LIMIT, user_id="ada")
    state.load([one for one in entries if one[0].sequence <= graph.sequence], graph=graph.blob)
    size, kind = state.size, state.dense.kind
    state.load([one for one in entries if one[0].sequence > graph.sequence])
    return size, kind, ten_best(state, query)


def ten_best(state: UserState, query: Vector) -> list[tuple[str, float]]:
    rows, cosines = state.dense.search(query, 10)
    return [
        (state.memory(int(row)).memory_id, round(float(cosine), 5))
        for row, cosine in zip(rows, cosines, strict=True)
    ]


async def test_f28_each_snapshot_under_continuous_ingest_loads_in_another_process(store, large):
    writer, user = Writer(store, large), await large.get("ada")
    snapshots: list[Graph] = []
    loop = asyncio.get_running_loop()

    async def take() -> None:
        while len(snapshots) < 8:
            if (found := await loop.run_in_executor(None, snapshot, user)) is not None:
                snapshots.append(found)
            await asyncio.sleep(0.02)

    taking = asyncio.create_task(take())
    while not taking.done():
        await writer.write()
    await until(lambda: large.caretaker.saves > 0)
    await large.caretaker.close()  # a save under way would replace what is being read
    saved = await store.graphs.load("ada")
    assert saved is not None
    query = next(iter(writer.live.values()))

    elsewhere = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=elsewhere) as pool:
        found = [
            await loop.run_in_executor(pool, replayed, graph, writer.entries, query)
            for graph in [saved, *snapshots]
        ]

    assert len({graph.sequence for graph in snapshots}) > 5
    assert [size for size, _, _ in found[1:]] == [
        size_at(graph.sequence, writer.entries) for graph in snapshots
    ]
    assert {kind for _, kind, _ in found} == {"hnsw"}
    with user.lock:
        live = ten_best(user.state, query)
    assert [hits for _, _, hits in found] == [live] * len(found)
