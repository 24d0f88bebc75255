"""How long a worker takes to come back when many users are its own and none of them asks."""

import asyncio
from statistics import median

from benchmarks.bench import Bench
from benchmarks.data import memories, vectors
from benchmarks.program import Program
from benchmarks.report import Cell, Result
from benchmarks.timing import took
from seedmem.text import hash_terms, terms
from seedmem.vectors import Vector, VectorSpace
from streams.client import Client
from streams.records import encode, field_of
from streams.settings import Settings
from streams.store import Write, connect

SPACE = VectorSpace("given", 384)
_BATCH = 500  # writes of one call
_DISTINCT = 1_000  # memories; then the first comes again
_PERIOD = 45_000  # ms that the first question may take


def measure(bench: Bench) -> list[Result]:
    """Return seconds until a worker is ready, and until it has answered one of its users."""
    users = bench.sizes.idle_users
    kinds = {f"{users:,} idle users": users, "no user": 0}
    services = {name: _service(bench, count) for name, count in kinds.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for turn in range(bench.sizes.restarts):
        for name, (settings, program) in services.items():
            bench.progress(f"restart: {name}, round {turn + 1}")
            times[name].append(_restarted(settings, program))
    rows: list[list[Cell]] = [
        [name, *(median(column) for column in zip(*each, strict=True))]
        for name, each in times.items()
    ]
    note = (
        f"One worker, all partitions, one memory a user ({SPACE.dim} dimensions); median of "
        f"{bench.sizes.restarts} starts in turns, each after a clean stop. Python's own start "
        "is in it."
    )
    return [
        Result(
            name="restart",
            title="A worker comes back",
            note=note,
            columns=("owns", "ready after s", "first answer after s"),
            rows=rows,
        )
    ]


def _service(bench: Bench, users: int) -> tuple[Settings, Program]:
    settings = bench.settings(encoder="given:384")
    bench.progress(f"restart: writing {users:,} users")
    asyncio.run(_fill(bench, settings, users))
    program = bench.seedmem(settings)
    program.start()  # the group has its offsets now
    program.stop()
    return settings, program


async def _fill(bench: Bench, settings: Settings, users: int) -> None:
    store = await connect(settings, str(SPACE))
    payloads = [
        (field_of(memory), encode(memory, hash_terms(terms(memory.text))))
        for memory in memories(bench.talk, vectors(min(users, _DISTINCT), SPACE.dim))
    ]
    for start in range(0, users, _BATCH):
        writes = [
            Write(f"idle-{number}", *_placed(payloads[number % len(payloads)], number))
            for number in range(start, min(start + _BATCH, users))
        ]
        await store.put(writes)
    await store.close()


def _placed(stored: tuple[bytes, bytes], arrival: int) -> tuple[bytes, None, int, bytes]:
    field, payload = stored
    return field, None, arrival, payload


def _restarted(settings: Settings, program: Program) -> tuple[float, float]:
    ready = took(program.start)
    with Client(settings) as client:
        answered = took(lambda: client.ask("idle-0", vector=_one(), deadline_ms=_PERIOD))
    program.stop()
    return ready, ready + answered


def _one() -> Vector:
    one: Vector = vectors(1, SPACE.dim)[0]
    return one
