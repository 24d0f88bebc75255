"""Kill and compare: whatever breaks while a story is played, the end is that of the story.

Every scenario plays the same story to workers and compares state, pairs and answers
with the plain model of the log; the undisturbed run does too, so all ends are equal.
"""

import os
import random
import signal
import time

import msgspec
import pytest
from scenarios.stage import Stage, until
from scenarios.story import story, user_names
from scenarios.watch import Watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STORY = story(seed=1)


def watching(settings):
    return Watch(settings, user_names(200))


def moments(seed, over):
    """Yield to the caller at random moments until the story is over."""
    chance = random.Random(seed)
    while not over.wait(chance.uniform(0.5, 3.5)):
        yield


def facts(plain, watch):
    return {
        "events": len(STORY),
        **plain.counts,
        "answers": dict(watch.statuses),
        "longest_gap_s": watch.longest_gap,
    }


def test_undisturbed_and_f50_replayed_and_rebuilt_from_the_log_alone(
    stage, workers, redis_url, showed
):
    pair = [workers(), workers()]
    with watching(stage.settings) as watch:
        stage.play(STORY)
        took = stage.settle()
    plain, held = stage.check(), stage.held()
    for worker in pair:
        worker.stop()

    stage.forget_offsets()  # onto the state that is there
    for worker in pair:
        worker.start()
    stage.settle()
    stage.check()
    assert stage.held() == held  # not one more write was accepted
    for worker in pair:
        worker.stop()

    stage.forget_offsets()  # into an empty Redis
    rebuilt = Stage(msgspec.structs.replace(stage.settings, redis=f"{redis_url[:-1]}1"))
    rebuilt.told = stage.told
    workers(redis=rebuilt.settings.redis)
    rebuilt_in = rebuilt.settle()
    rebuilt.check()

    assert rebuilt.held() == held
    showed(**facts(plain, watch), applied_in_s=took, rebuilt_in_s=rebuilt_in)


def test_one_worker_killed_again_and_again(stage, workers, showed):
    workers()
    victim = workers()
    kills = 0
    with watching(stage.settings) as watch, stage.playing(STORY, rate=80) as over:
        for _ in moments(2, over):
            victim.kill()
            victim.start()
            kills += 1
    stage.settle()

    showed(kills=kills, **facts(stage.check(), watch))
    assert kills >= 3


def test_the_broker_killed_and_restarted(on_own_kafka, own_kafka, workers, showed):
    stage = Stage(on_own_kafka)
    pair = [workers(kafka=on_own_kafka.kafka) for _ in range(2)]
    with watching(on_own_kafka) as watch, stage.playing(STORY, rate=80) as over:
        for _ in range(2):
            answered = watch.statuses["ok"]
            until(lambda answered=answered: watch.statuses["ok"] > answered + 20)
            own_kafka.kill()
            assert not over.is_set()
            own_kafka.start()
    stage.settle()

    showed(kills=2, **facts(stage.check(), watch))
    assert [worker.stop() for worker in pair] == [0, 0]


def test_redis_frozen_for_8_s(on_own_redis, own_redis, workers, showed):
    stage = Stage(on_own_redis)
    for _ in range(2):
        workers(redis=on_own_redis.redis)
    with watching(on_own_redis) as watch, stage.playing(STORY, rate=250) as over:
        next(moments(4, over))
        os.kill(own_redis.pid, signal.SIGSTOP)
        time.sleep(8.0)
        assert not over.is_set()
        os.kill(own_redis.pid, signal.SIGCONT)
    stage.settle()

    showed(**facts(stage.check(), watch))


def test_redis_killed_and_restarted(on_own_redis, own_redis, workers, showed):
    stage = Stage(on_own_redis)
    for _ in range(2):
        workers(redis=on_own_redis.redis)
    kills = 0
    with watching(on_own_redis) as watch, stage.playing(STORY, rate=250) as over:
        for _ in moments(5, over):
            own_redis.kill()
            time.sleep(0.5)
            own_redis.start()
            kills += 1
    stage.settle()

    showed(kills=kills, **facts(stage.check(), watch))
    assert kills >= 3


def test_three_workers_joining_and_leaving(stage, workers, showed):
    three = [workers(), workers(start=False), workers(start=False)]
    with watching(stage.settings) as watch, stage.playing(STORY, rate=80) as over:
        three[1].start()
        three[2].start()
        assert three[0].stop() == 0
        three[0].start()
        assert three[1].stop() == 0
        assert three[2].stop() == 0
        assert not over.is_set()
    stage.settle()

    showed(joins=3, leaves=3, **facts(stage.check(), watch))
