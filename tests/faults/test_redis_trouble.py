"""Redis refuses, stalls, is flushed or is full: waited for where waiting helps, else the end."""

import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from redis import Redis
from scenarios.stage import Stage, until
from scenarios.story import story

from streams.client import Client
from streams.events import Status
from streams.local.ports import answers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

STORY = story(seed=7, users=20, events=400)
GRACE = 30.0  # seconds until k8s kills a pod that should end


@pytest.fixture
def redis(own_redis):
    with Redis.from_url(own_redis.url) as server:
        yield server


@pytest.fixture
def stage(on_own_redis):
    return Stage(on_own_redis)


def ending_of(worker, *, since=None):
    """Return the exit code of a worker that ends by itself, and the seconds it took."""
    started = since or time.monotonic()
    until(lambda: not worker.process.running, timeout=90)
    return worker.stop(), time.monotonic() - started


def get(worker, path):
    return answers(
        worker.port, send=f"GET {path} HTTP/1.0\r\n\r\n".encode(), expect=b"HTTP/1.0 200"
    )


def test_f07_a_refused_login_at_the_start_ends_the_worker(stage, redis, workers, showed):
    redis.config_set("requirepass", "secret")
    worker = workers(start=False, redis=stage.settings.redis)

    worker.launch()

    code, seconds = ending_of(worker)
    assert code not in (0, -9)
    assert seconds < GRACE
    assert "refuses" in worker.log.splitlines()[-1]
    showed(exit_code=code, after_s=seconds)


def test_f07_a_login_refused_in_the_middle_ends_the_worker_and_nothing_is_acked(
    stage, redis, own_redis, workers, showed
):
    worker = workers(redis=stage.settings.redis)
    stage.play(STORY[:200])
    stage.settle()

    redis.config_set("requirepass", "secret")
    redis.client_kill_filter(_type="normal", skipme=True)
    refused_at = time.monotonic()
    stage.play(STORY[200:])
    code, seconds = ending_of(worker, since=refused_at)
    not_acked = stage.lag()

    assert code not in (0, -9)
    assert seconds < GRACE
    assert not_acked == 200
    redis.config_set("requirepass", "")
    worker.start()
    stage.settle()
    stage.check()
    showed(exit_code=code, after_s=seconds, events_not_acked=not_acked)


def test_f42_queries_are_answered_in_time_while_redis_stalls_for_10_s(
    stage, redis, workers, showed
):
    workers(redis=stage.settings.redis)
    stage.play(STORY)
    stage.settle()
    hot, *cold = sorted(stage.log().digest())

    def timed(user):
        asked_at = time.monotonic()
        return client.ask(user, "who?", timeout=30.0).status, time.monotonic() - asked_at

    with Client(stage.settings) as client, ThreadPoolExecutor(8) as pool:
        assert client.ask(hot, "who?", deadline_ms=20_000).status is Status.OK
        redis.client_pause(10_000, all=True)
        paused_at = time.monotonic()
        stage.play(STORY[:100])
        replies = list(pool.map(timed, [hot, *cold[:15]]))
        still_paused = time.monotonic() < paused_at + 10.0

    assert still_paused
    assert replies[0][0] is Status.OK
    assert {status for status, _ in replies[1:]} == {Status.NOT_READY}
    assert max(seconds for _, seconds in replies) < stage.settings.deadline
    stage.settle()
    stage.check()
    showed(replies_while_paused=len(replies), slowest_s=max(s for _, s in replies))


def test_f44_an_evicting_redis_is_refused_at_the_start(stage, redis, workers):
    redis.config_set("maxmemory-policy", "allkeys-lru")
    worker = workers(start=False, redis=stage.settings.redis)

    worker.launch()

    code, _ = ending_of(worker)
    assert code not in (0, -9)
    assert "allkeys-lru" in worker.log.splitlines()[-1]


def test_f44_a_flush_is_noticed_and_the_state_is_rebuilt_from_the_log(
    stage, redis, workers, showed
):
    worker = workers(redis=stage.settings.redis)
    stage.play(STORY)
    stage.settle()

    redis.flushall()
    code, seconds = ending_of(worker)

    assert code not in (0, -9)
    assert "flushed" in worker.log
    stage.forget_offsets()
    worker.start()
    rebuilt_in = stage.settle()
    stage.check()
    showed(noticed_after_s=seconds, rebuilt_in_s=rebuilt_in, events=len(STORY))


def test_f24_readiness_follows_lag_and_redis_and_liveness_neither(
    stage, own_redis, workers, showed
):
    long = story(seed=8, users=50, events=12_000)
    stage.play(long)
    worker = workers(start=False, redis=stage.settings.redis)
    started = time.monotonic()
    worker.launch()

    until(lambda: get(worker, "/live"), timeout=60)
    live_after = time.monotonic() - started
    assert not get(worker, "/ready")
    until(lambda: get(worker, "/ready"), timeout=120)
    ready_after = time.monotonic() - started
    assert stage.lag() <= 4 * 1_000 * 3  # of each partition of each topic

    own_redis.stop()
    until(lambda: not get(worker, "/ready"), timeout=30)
    assert get(worker, "/live")
    own_redis.start()
    until(lambda: get(worker, "/ready"), timeout=30)
    assert worker.process.running
    showed(backlog=len(long), live_after_s=live_after, ready_after_s=ready_after)


def test_f24_a_taken_health_port_is_a_clear_error(stage, workers):
    first = workers(redis=stage.settings.redis)
    second = workers(start=False, redis=stage.settings.redis)
    second.settings = msgspec.structs.replace(second.settings, health_port=first.port)

    second.launch()

    code, _ = ending_of(second)
    assert code not in (0, -9)
    assert f"{first.port} cannot be used" in second.log.splitlines()[-1]
