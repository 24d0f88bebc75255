"""Faults on three brokers, two of three replicas in sync, while users are served.

A test that breaks Redis has one of its own. Every scenario ends as ``scenarios.facts.ended``
says: the state is the plain model's, as that of the undisturbed run is, and no answer holds what
another user said.
"""

import os
import random
import signal
import time

import msgspec
import pytest
from redis import Redis
from scenarios.facts import applied, assigned, ended, in_sync, leader_of
from scenarios.stage import Stage, until
from scenarios.story import parts, story, user_names
from scenarios.watch import Watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STORY = story(seed=31, users=100, events=1_600)
NAMES = user_names(100)
RATE = 60  # events a second; the story takes 27 s, longer than what is done to it, and
SLOWLY = 40  # ... 40 s where workers start meanwhile
QUIET = 100  # lines that a worker may log in one scenario, also while a dependency is away
FAIL_OVER = 10.0  # seconds without an answer that a killed worker may cost


def watching(settings):
    return Watch(settings, NAMES, told=STORY)


def pair_of(workers, **differing):
    """Start two workers at once and return them when both are ready."""
    pair = [workers(start=False, **differing), workers(start=False, **differing)]
    for worker in pair:
        worker.launch()
    for worker in pair:
        worker.process.wait_until(lambda worker=worker: worker.is_ready, timeout=90)
    return pair


def lines(several):
    """Return how many lines each worker has logged."""
    return [len(worker.log.splitlines()) for worker in several]


def moments(seed, over, *, count):
    """Yield to the caller at ``count`` random moments of a story."""
    chance = random.Random(seed)
    for _ in range(count):
        assert not over.wait(chance.uniform(0.5, 3.0)), "the story is too short for the faults"
        yield


def test_undisturbed(stage, workers, showed):
    pair = pair_of(workers)
    with watching(stage.settings) as watch, stage.playing(STORY, rate=RATE):
        pass

    assert in_sync(stage, stage.topics.memory_created) == [3] * 4
    showed(**ended(stage, watch), read_again=sum(map(applied, pair)) - len(STORY))


def test_the_leader_killed_under_load_twice(stage, cluster, workers, showed):
    pair, led = pair_of(workers), list[int]()
    with watching(stage.settings) as watch, stage.playing(STORY, rate=SLOWLY) as over:
        for _ in moments(1, over, count=2):
            node = cluster.nodes[leader_of(stage, stage.topics.memory_created, 0)]
            node.kill()
            led.append(node.index)
            until(
                lambda i=node.index: leader_of(stage, stage.topics.memory_created, 0) not in (i, -1)
            )
            node.start()
            until(lambda: in_sync(stage, stage.topics.memory_created) == [3] * 4)

    showed(leaders_killed=led, lines_logged=lines(pair), **ended(stage, watch))
    assert max(lines(pair)) < QUIET


def test_a_worker_killed_for_good_is_replaced_within_10_s(stage, workers, showed):
    survivor, victim = pair_of(workers)
    with watching(stage.settings) as watch, stage.playing(STORY, rate=RATE) as over:
        next(moments(2, over, count=1))
        victim.kill()
        killed_at = time.monotonic()
        before = watch.longest_gap
        until(lambda: len(assigned(survivor)) == 4, every=0.02)
        took_over_in = time.monotonic() - killed_at
        assert not over.is_set()

    showed(
        **ended(stage, watch), session_s=stage.settings.session_timeout,
        partitions_taken_over_after_s=took_over_in, gap_before_s=before,
    )  # fmt: skip
    assert took_over_in < FAIL_OVER
    assert watch.longest_gap < FAIL_OVER


def test_a_serve_worker_killed_at_random_moments(stage, workers, showed):
    survivor, victim = pair_of(workers)
    chance, done = random.Random(3), 0
    with watching(stage.settings) as watch:
        for part in parts(STORY, 4):
            with stage.playing(part, rate=RATE):
                time.sleep(chance.uniform(0.5, 5.0))
                done += applied(victim)
                victim.kill()
                victim.start()

    facts = ended(stage, watch)
    done += applied(survivor) + applied(victim)
    showed(kills=4, read_again=done - len(STORY), **facts)


def test_a_worker_paused_beyond_its_session_wakes_as_a_stranger(stage, workers, showed):
    survivor, victim = pair_of(workers)
    with watching(stage.settings) as watch, stage.playing(STORY, rate=RATE) as over:
        next(moments(4, over, count=1))
        os.kill(victim.process.pid, signal.SIGSTOP)
        until(lambda: len(assigned(survivor)) == 4, timeout=30)
        time.sleep(1.0)  # the survivor serves what was the other's
        os.kill(victim.process.pid, signal.SIGCONT)
        until(lambda: victim.is_ready and 0 < len(assigned(victim)) < 4, timeout=60)
        assert not over.is_set()

    facts = ended(stage, watch)
    read_again = applied(survivor) + applied(victim) - len(STORY)
    showed(read_again=read_again, **facts)


def test_redis_stopped_and_started(settings, own_redis, workers, showed):
    stage = Stage(msgspec.structs.replace(settings, redis=own_redis.url))
    pair = pair_of(workers, redis=own_redis.url)
    with watching(stage.settings) as watch, stage.playing(STORY, rate=RATE) as over:
        next(moments(5, over, count=1))
        own_redis.stop()
        time.sleep(5.0)
        own_redis.start()
        assert not over.is_set()

    facts = ended(stage, watch)
    read_again = sum(map(applied, pair)) - len(STORY)
    showed(away_s=5, lines_logged=lines(pair), read_again=read_again, **facts)
    assert max(lines(pair)) < QUIET


def test_redis_filled_to_its_memory_limit_and_freed(settings, own_redis, workers, showed):
    stage = Stage(msgspec.structs.replace(settings, redis=own_redis.url))
    pair = pair_of(workers, redis=own_redis.url)
    with (
        Redis.from_url(own_redis.url) as server,
        watching(stage.settings) as watch,
        stage.playing(STORY, rate=RATE) as over,
    ):
        next(moments(6, over, count=1))
        server.config_set("maxmemory", server.info("memory")["used_memory"] + 50_000)
        until(lambda: any("OOM" in worker.log for worker in pair), timeout=30)
        time.sleep(3.0)
        waiting = stage.lag()
        server.config_set("maxmemory", 0)
        assert not over.is_set()

    facts = ended(stage, watch)
    assert waiting > 0
    read_again = sum(map(applied, pair)) - len(STORY)
    showed(waited_for_room=waiting, read_again=read_again, **facts)


def test_all_workers_rolled_one_by_one(stage, workers, showed):
    pair, done = pair_of(workers), 0
    with watching(stage.settings) as watch:
        for worker, part in zip(pair, parts(STORY, 2), strict=True):
            with stage.playing(part, rate=RATE) as over:
                until(lambda answered=watch.statuses["ok"]: watch.statuses["ok"] > answered + 20)
                done += applied(worker)
                assert worker.stop() == 0
                assert not over.is_set()
                worker.start()

    facts = ended(stage, watch)
    read_again = done + sum(map(applied, pair)) - len(STORY)
    showed(rolled=len(pair), read_again=read_again, **facts)
