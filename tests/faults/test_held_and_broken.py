"""Events that take for ever, and events that fail: none of them is lost or passed over."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis
from scenarios.plain import Plain
from scenarios.stage import Stage, until
from scenarios.story import DIM

from streams.archive import end_of, read_all
from streams.client import Client
from streams.events import DeadLetter, MemoryCreated, Status, SubjectExtracted
from streams.intake import owner_of
from streams.refusal import Reason
from streams.wire import decode, key_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def memories(*texts, user="ada"):
    return [MemoryCreated(user_id=user, memory_id=text, text=text) for text in texts]


def commits_go_on(stage, partition):
    """Return when commits were made twice since the call; for another topic than memories."""
    for number in range(2):
        link = SubjectExtracted(
            user_id="ada", subject_id=f"s{number}", name="Home", memory_ids=["A"],
            vector=[1.0] * DIM,
        )  # fmt: skip
        stage.play([link])
        end = end_of(stage.settings, stage.topics.subject_extracted, partition)
        until(lambda end=end: stage.committed(stage.topics.subject_extracted)[partition] == end)


def test_f03_an_event_held_in_work_is_never_committed_past(stage, faulty, showed):
    worker, hold = faulty()
    partition = owner_of(key_of("ada"), stage.settings.partitions)
    stage.play(memories("first"))
    stage.settle()

    hold.touch()
    stage.play(memories("A: HOLD this", *(f"later {number}" for number in range(200))))
    until(lambda: hold.read_text() == "held")
    commits_go_on(stage, partition)

    assert stage.committed(stage.topics.memory_created)[partition] == 1
    worker.kill()
    hold.unlink()
    worker.start()
    stage.settle()
    stage.check()
    showed(held=1, behind_it=200, committed_at_the_kill=1)


def test_f03_a_query_held_in_work_is_answered_by_the_next_worker(stage, faulty, showed):
    worker, hold = faulty(threads=2)
    partition = owner_of(key_of("ada"), stage.settings.partitions)
    stage.play(memories("the tap leaks"))
    stage.settle()

    hold.touch()
    with Client(stage.settings) as client, ThreadPoolExecutor(1) as pool:
        held = pool.submit(client.ask, "ada", "HOLD: what leaks?", deadline_ms=150_000)
        until(lambda: hold.read_text() == "held")
        later = [client.ask("ada", "what leaks?", deadline_ms=20_000) for _ in range(20)]
        commits_go_on(stage, partition)

        committed = stage.committed(stage.topics.query)[partition]
        worker.kill()
        hold.unlink()
        worker.start()
        answer = held.result()

    assert {reply.status for reply in later} == {Status.OK}
    assert committed == 0
    assert answer.status is Status.OK
    assert [hit.text for hit in answer.hits] == ["the tap leaks"]
    showed(held=1, answered_behind_it=20, committed_at_the_kill=committed)


def test_f01_a_write_that_fails_is_made_later_and_survives_a_restart(
    on_own_redis, own_redis, workers, showed
):
    stage, worker = Stage(on_own_redis), workers(redis=on_own_redis.redis)
    stage.play(memories("1", "2", "3", "4"))
    stage.settle()

    with Redis.from_url(own_redis.url) as server:
        server.config_set("maxmemory", 1)
        stage.play(memories("5", "6", "7", "8", "9", "10"))
        until(lambda: "OOM" in worker.log)
        waiting = stage.lag()
        server.config_set("maxmemory", 0)
    stage.settle()
    worker.stop()
    worker.start()

    assert waiting == 6  # F44: what Redis had no room for is not acked
    stage.check()
    showed(events=10, failed_and_made_later=6)


def test_f01_an_event_that_breaks_its_handler_is_buried_and_the_others_are_applied(
    stage, faulty, showed
):
    worker, _ = faulty()
    good, bad = memories("1", "2", "3", "4", "6", "7", "8", "9", "10"), memories("5: BREAK")
    stage.play([*good[:4], *bad, *good[4:]])
    stage.settle()
    worker.stop()
    worker.start()

    expected = Plain()
    expected.apply(good)
    letters = [
        decode(r.value, DeadLetter) for r in read_all(stage.settings, stage.topics.dead_letter)
    ]
    assert stage.held().digest == expected.digest()
    assert [(letter.reason, letter.offset) for letter in letters] == [(Reason.HANDLER, 4)]
    showed(events=10, dead_letters=1)
