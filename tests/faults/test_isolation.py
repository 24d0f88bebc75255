"""F57: no answer ever has another user's memory, however hard users are to tell apart."""

import asyncio
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from scenarios.stage import SPACE, until
from scenarios.story import DIM, user_names

from seedmem.retrieve import Query, retrieve
from seedmem.vectors import VectorSpace, to_wire, unit_rows
from streams.client import Client
from streams.errors import AnswerTimeout
from streams.events import MemoryCreated, Status
from streams.store import connect
from streams.users import HotUsers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAMES = user_names(200)
NUMBER_OF = {name: number for number, name in enumerate(NAMES)}
EACH = 5  # memories of a user
BASE = np.random.default_rng(57).normal(size=DIM)
HOT = 3  # users that fit into memory
OVER_KAFKA, IN_PROCESS = 10_000, 90_000  # answers


def told():
    """Return every user's memories: all alike, but for whose they are."""
    noise = np.random.default_rng(58)
    return [
        MemoryCreated(
            user_id=name, memory_id=f"{number}/{n}", text=f"my secret word is of {number}",
            vector=to_wire(BASE + 1e-3 * noise.normal(size=DIM)),
        )
        for number, name in enumerate(NAMES)
        for n in range(EACH)
    ]  # fmt: skip


def is_own(user, hits):
    number = NUMBER_OF[user]
    ids = {hit.memory_id for hit in hits}
    return ids <= {f"{number}/{n}" for n in range(EACH)} and {h.text for h in hits} == {
        f"my secret word is of {number}"
    }


async def bytes_of_one(settings):
    store, pool = await connect(settings, SPACE), ThreadPoolExecutor(1)
    users = hot_users(store, pool, hot_bytes=10**9)
    size = (await users.get("user-150")).nbytes
    await users.close()
    await store.close()
    return size


def hot_users(store, pool, *, hot_bytes):
    return HotUsers(store, VectorSpace("hash", DIM), pool, hot_bytes=hot_bytes, exact_limit=5_000)


def test_f57_answers_over_kafka_under_eviction_rebalance_and_cancelled_requests(
    stage, workers, showed
):
    one = workers()
    stage.play(told())
    stage.settle()
    one.stop()
    hot_bytes = HOT * asyncio.run(bytes_of_one(stage.settings))
    pair = [workers(hot_bytes=hot_bytes), workers(hot_bytes=hot_bytes)]
    joins = workers(start=False, hot_bytes=hot_bytes)
    statuses, foreign = Counter(), []

    def ask(number):
        chance = random.Random(number)
        user = chance.choice(NAMES)
        cancelled = chance.random() < 0.1  # its time is over while the user is being loaded
        text = "what is my secret word?"
        try:
            answer = client.ask(
                user, text, deadline_ms=chance.randint(1, 5) if cancelled else 20_000, timeout=25.0
            )
        except AnswerTimeout:
            statuses["none"] += 1
            return
        statuses[str(answer.status)] += 1
        if answer.user_id != user or (answer.hits and not is_own(user, answer.hits)):
            foreign.append((user, answer))
        if answer.status is Status.OK and len(answer.hits) != EACH:
            foreign.append((user, answer))

    began = time.monotonic()
    with Client(stage.settings) as client, ThreadPoolExecutor(16) as pool:
        asking = [pool.submit(ask, number) for number in range(OVER_KAFKA)]
        until(lambda: sum(statuses.values()) > OVER_KAFKA // 5)
        joins.start()
        pair[0].kill()
        pair[0].start()
        joins.stop()
        for one_asked in asking:
            one_asked.result()
    seconds = time.monotonic() - began

    assert foreign == []
    assert statuses[Status.OK] > 0.8 * OVER_KAFKA
    showed(
        answers=dict(statuses), foreign=len(foreign), users=len(NAMES), hot_bytes=hot_bytes,
        per_s=OVER_KAFKA / seconds,
    )  # fmt: skip


async def test_f57_answers_in_process_under_eviction_and_cancelled_requests(stage, workers, showed):
    worker = workers()
    stage.play(told())
    stage.settle()
    worker.stop()
    store, pool = await connect(stage.settings, SPACE), ThreadPoolExecutor(2)
    users = hot_users(store, pool, hot_bytes=HOT * await bytes_of_one(stage.settings))
    chance, counts = random.Random(57), Counter()
    vector = unit_rows(BASE[None, :])[0]
    loop = asyncio.get_running_loop()

    def search(hot):
        with hot.lock:
            return retrieve(hot.state, Query(text="secret word", vector=vector, k=10))

    async def ask(user):
        answer = await loop.run_in_executor(pool, search, await users.get(user))
        counts["foreign"] += not is_own(user, answer.hits)
        counts["short"] += len(answer.hits) != EACH
        counts["answers"] += 1

    async def asker():
        while counts["answers"] < IN_PROCESS:
            turn = counts["answers"] // 200  # a few users are asked for most, and they change
            favourites = [NAMES[(turn + n) % len(NAMES)] for n in range(HOT - 1)]
            user = chance.choice(favourites if chance.random() < 0.9 else NAMES)
            one = asyncio.create_task(ask(user))
            if chance.random() < 0.1:
                await asyncio.sleep(chance.uniform(0, 0.003))
                counts["cancelled"] += one.cancel()
            with suppress(asyncio.CancelledError):
                await one

    began = time.monotonic()
    await asyncio.gather(*(asker() for _ in range(16)))
    seconds = time.monotonic() - began
    loads, evictions = users.loads, users.evictions
    await users.close()
    await store.close()

    assert (counts["foreign"], counts["short"]) == (0, 0)
    assert evictions > 1_000
    showed(**counts, loads=loads, evictions=evictions, per_s=counts["answers"] / seconds)
