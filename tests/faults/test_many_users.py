"""F36: a hundred thousand tiny users on one worker."""

import asyncio
import random
import time

import numpy as np
import psutil
import pytest
from scenarios.facts import samples

from seedmem.memory import Memory
from seedmem.text import hash_terms, terms
from seedmem.vectors import unit_rows
from streams.client import Client
from streams.events import Status
from streams.records import encode, field_of
from streams.store import Write, connect

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(400)]

TINY = 100_000  # users
HOT = 2_000_000  # bytes: some six hundred of them
SPARE = 150e6  # bytes that the worker may grow by beside its hot users


def payloads(count, dim):
    """Return what the store keeps of ``count`` memories, and their fields."""
    chance = np.random.default_rng(36)
    for start in range(0, count, 1_000):
        rows = unit_rows(chance.normal(size=(min(1_000, count - start), dim)))
        for number, row in enumerate(rows, start):
            text = f"note {number} of a life"
            draft = Memory(memory_id=f"m{number}", text=text, vector=row, sequence=0, born=0)
            yield field_of(draft), encode(draft, hash_terms(terms(text)))


async def fill(settings, space, writes):
    """Make writes durable, a thousand at a time."""
    store, waiting = await connect(settings, space), []
    for write in writes:
        waiting.append(write)
        if len(waiting) == 1_000:
            await store.put(waiting)
            waiting.clear()
    if waiting:
        await store.put(waiting)
    await store.close()


def size_of(number):
    """Return how many memories a tiny user has: 1 to 4, and every twentieth 20."""
    return 1 + number % 4 if number % 20 else 20


def value(worker, name):
    return sum(value for sample, _, value in samples(worker) if sample == name)


def resident(worker):
    return psutil.Process(worker.process.pid).memory_info().rss


def test_f36_a_hundred_thousand_tiny_users_on_one_small_worker(on_own_redis, workers, showed):
    kept = list(payloads(20, 64))
    asyncio.run(
        fill(
            on_own_redis,
            "hash/64",
            (
                Write(f"user-{number}", field, None, number, payload)
                for number in range(TINY)
                for field, payload in kept[: size_of(number)]
            ),
        )
    )
    worker = workers(start=False, redis=on_own_redis.redis, hot_bytes=HOT)
    began = time.monotonic()
    worker.start()
    ready, idle = time.monotonic() - began, resident(worker)
    chosen, took = random.Random(36).sample(range(TINY), 1_500), []

    with Client(on_own_redis) as client:
        client.ask("user-7", "is anybody there?", deadline_ms=20_000)
        for number in chosen:
            asked_at = time.monotonic()
            answer = client.ask(f"user-{number}", "note 3", k=100, deadline_ms=10_000)
            took.append(time.monotonic() - asked_at)
            assert (answer.status, len(answer.hits)) == (Status.OK, size_of(number))

    took.sort()
    grown = resident(worker) - idle
    assert ready < 60
    assert took[int(0.99 * len(took))] < 1.0  # 0.2 s on an idle machine
    assert value(worker, "seedmem_evictions_total") > 100
    assert value(worker, "seedmem_hot_bytes") <= HOT
    assert value(worker, "seedmem_graph_builds_total") == 0
    assert grown < HOT + SPARE
    showed(
        users=TINY, memories=sum(map(size_of, range(TINY))), ready_s=ready,
        cold_p50_s=took[len(took) // 2], cold_p99_s=took[int(0.99 * len(took))],
        hot_users=int(value(worker, "seedmem_hot_users")), grown_by_mb=grown / 1e6,
    )  # fmt: skip
