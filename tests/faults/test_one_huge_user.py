"""F59: one user with very many memories, beside small ones on the same partition."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
import redis
from scenarios.facts import samples
from scenarios.filling import filled
from scenarios.stage import Stage, until
from scenarios.watch import Watch

from streams.client import Client
from streams.events import MemoryCreated, Status
from streams.intake import owner_of
from streams.wire import key_of

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(500)]

HUGE = 200_000  # memories
RATE = 40  # events a second while questions are asked
WHILE = 40.0  # seconds
FLOOR = 0.05  # seconds; a quiet p99 below it is no yardstick on two CPUs


def neighbours(settings, number):
    """Return the names of users who share the partition of ``giant``."""
    owner = owner_of(key_of("giant"), settings.partitions)
    names = (f"small-{n}" for n in count())
    found = (n for n in names if owner_of(key_of(n), settings.partitions) == owner)
    return [next(found) for _ in range(number)]


def told(users, first, number):
    return [
        MemoryCreated(user_id=users[n % len(users)], memory_id=f"new-{n}", text=f"note {n}")
        for n in range(first, first + number)
    ]


def forgotten(first, number):
    return [
        MemoryCreated(user_id="giant", memory_id=f"m{n}", deleted=True)
        for n in range(first, first + number)
    ]


@contextmanager
def commits_watched(stage: Stage) -> Iterator[list[float]]:
    """Give a list of how long, in s, committed offsets stood still while events waited."""
    still, ends = [0.0], threading.Event()

    def look() -> None:
        seen, since = 0, time.monotonic()
        while not ends.wait(0.25):
            committed = sum(stage.committed(stage.topics.memory_created).values())
            if committed != seen:
                seen, since = committed, time.monotonic()
            elif stage.lag():
                still.append(time.monotonic() - since)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield still
    finally:
        ends.set()
        looking.join()


def asked_once(settings, user):
    """Return the seconds that the answer to a user who was not in memory took."""
    started = time.monotonic()
    with Client(settings) as client:
        assert client.ask(user, "note 7", deadline_ms=60_000).status == Status.OK
    return time.monotonic() - started


def value(worker, name):
    return sum(value for sample, _, value in samples(worker) if sample == name)


def test_f59_a_huge_user_holds_up_neither_small_ones_nor_commits_nor_redis(
    on_own_redis, workers, showed
):
    stage, small = Stage(on_own_redis), neighbours(on_own_redis, 50)
    asyncio.run(filled(on_own_redis, ["giant"], each=HUGE))
    asyncio.run(filled(on_own_redis, small, each=200))
    server = redis.Redis.from_url(on_own_redis.redis)
    server.slowlog_reset()
    server.config_set("slowlog-log-slower-than", 50_000)  # µs
    worker = workers(redis=on_own_redis.redis)
    with Watch(on_own_redis, small, every=0.05) as warming:
        until(lambda: len(warming.took) > 100)

    quiet_events = told(small, 0, int(RATE * WHILE))
    with Watch(on_own_redis, small, every=0.05) as quiet, commits_watched(stage) as quiet_still:
        stage.play(quiet_events, rate=RATE)
    stage.settle()

    # The huge user is read and gets its graph, which is saved; it grows and loses some meanwhile.
    news = told(["giant", *small[:1]], 10**6, int(RATE * WHILE))
    events = [event for both in zip(news, forgotten(0, len(news)), strict=True) for event in both]
    with (
        Watch(on_own_redis, small, every=0.05) as busy,
        commits_watched(stage) as busy_still,
        stage.playing(events, rate=RATE),
    ):
        first = asked_once(on_own_redis, "giant")
        until(lambda: value(worker, "seedmem_graph_saves_total") > 0, timeout=300)
    stage.settle()

    showed(
        memories=HUGE, small_users=len(small), answers=dict(busy.statuses),
        first_answer_of_the_huge_user_s=first,
        quiet_p99_s=quiet.percentile(0.99), busy_p99_s=busy.percentile(0.99),
        quiet_p50_s=quiet.percentile(0.5), busy_p50_s=busy.percentile(0.5),
        longest_without_commit_s=max(busy_still), quiet_without_commit_s=max(quiet_still),
        slow_commands=len(server.slowlog_get()), hot_mb=value(worker, "seedmem_hot_bytes") / 1e6,
        graphs_saved=int(value(worker, "seedmem_graph_saves_total")),
    )  # fmt: skip
    assert set(busy.statuses) == {Status.OK}, busy.statuses
    assert server.slowlog_get() == []
    assert busy.percentile(0.99) < 2 * max(quiet.percentile(0.99), FLOOR)
    assert max(busy_still) < 2 * max(quiet_still) + 1.0
