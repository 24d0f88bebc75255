"""A flood of events, a broker that is away, a worker that starts on many users."""

import asyncio
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from kafka import KafkaAdminClient
from scenarios.filling import filled
from scenarios.stage import Stage, until
from scenarios.story import DIM, story, user_names
from scenarios.watch import Watch

from seedmem.vectors import to_wire
from streams.client import Client
from streams.events import Filters, MemoryCreated, Status, SubjectExtracted
from streams.topics import Topics

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]


def most_memory(worker):
    """Return the most bytes that the worker's process had resident."""
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])


def given(user, number, chance):
    vector = to_wire(chance.normal(size=DIM))
    return MemoryCreated(user_id=user, memory_id=f"m{number}", text=f"note {number}", vector=vector)


def test_f18_a_burst_of_40000_events_beside_20_queries_a_second(stage, workers, showed):
    chance, names = np.random.default_rng(18), user_names(50)
    burst = [given(names[number % 50], number, chance) for number in range(40_000)]
    worker = workers()
    before = most_memory(worker)
    worker.kill()
    stage.play(burst)

    worker.launch()
    with Client(stage.settings) as client:
        client.ask(names[0], "is anybody there?", deadline_ms=60_000)
    waiting, began = stage.lag(), time.monotonic()
    with Watch(stage.settings, names, every=0.2, deadline=2.0) as watch:
        stage.settle(timeout=200)
        seconds = time.monotonic() - began

    stage.check(questions=20)
    assert set(watch.statuses) <= {Status.OK, Status.NOT_READY}, watch.statuses
    grown = most_memory(worker) - before
    assert grown < 300e6
    showed(
        events=len(burst), applied_per_s=waiting / seconds, answers=dict(watch.statuses),
        p50_s=watch.percentile(0.5), p99_s=watch.percentile(0.99),
        longest_gap_s=watch.longest_gap, grown_by_mb=grown / 1e6,
    )  # fmt: skip


def test_f18_an_event_that_is_larger_than_one_fetch_is_applied(stage, workers):
    workers()
    text = "the word " * 60_000

    stage.play([MemoryCreated(user_id="ada", memory_id="long", text=text)])
    stage.settle()

    stage.check(questions=1)


def test_f21_a_broker_away_for_longer_than_the_session_needs_no_restart(
    on_own_kafka, own_kafka, workers, showed
):
    stage, told = Stage(on_own_kafka), story(seed=21, users=40, events=1_500)
    worker = workers(kafka=on_own_kafka.kafka)
    stage.play(told[:500])
    stage.settle()

    with stage.playing(told[500:], rate=50):  # 20 s: before, while it is away, and after
        own_kafka.kill()
        time.sleep(2.5 * on_own_kafka.session_timeout)
        own_kafka.start()
        back_at = time.monotonic()
    stage.settle(timeout=60)
    seconds = time.monotonic() - back_at

    stage.check()
    until(lambda: worker.is_ready)
    showed(away_s=2.5 * on_own_kafka.session_timeout, events=len(told), caught_up_after_s=seconds)
    assert worker.stop() == 0


@pytest.mark.parametrize("subjects", [4, 0], ids=["counts differ", "topics missing"])
def test_f14_topics_that_do_not_fit_are_refused_in_one_line(subjects, settings, workers):
    mine = msgspec.structs.replace(settings, namespace=f"{settings.namespace}f14-")
    names = Topics(mine.namespace)
    counts = {names.memory_created: 8, names.subject_extracted: subjects} if subjects else {}
    worker = workers(start=False, namespace=mine.namespace)
    with KafkaAdminClient(bootstrap_servers=mine.kafka) as admin:
        if counts:
            made = {
                name: {"num_partitions": n, "replication_factor": 1} for name, n in counts.items()
            }
            admin.create_topics(made)
            admin.wait_for_topics(list(counts))

        worker.launch()
        until(lambda: not worker.process.running, timeout=60)

        line = worker.log.splitlines()[-1]
        assert worker.stop() not in (0, -9)
        assert all(f"{name} has {count}" in line for name, count in counts.items())
        assert "partitions" in line if counts else "seedmem topics create" in line
        if counts:
            admin.delete_topics(list(counts))


def test_f51_a_subject_waits_for_its_memory_through_a_kill(stage, workers, showed):
    def link(id, name, *memories, version=None):
        return SubjectExtracted(
            user_id="ada", subject_id=id, name=name, memory_ids=list(memories), version=version
        )

    worker = workers()
    stage.play(
        [
            link("s1", "Travel", "soon", "never"),
            link("s2", "Newest", "soon", version=9),
            link("s2", "Stale", "soon", version=3),
            MemoryCreated(user_id="ada", memory_id="gone", text="this will be forgotten"),
            MemoryCreated(user_id="ada", memory_id="gone", deleted=True),
            link("s3", "Grave", "gone"),
        ]
    )
    stage.settle()
    worker.kill()
    worker.start()
    stage.play([MemoryCreated(user_id="ada", memory_id="soon", text="the night train")])
    stage.settle()

    def found(subject):
        filters = Filters(subjects=[subject])
        answer = client.ask("ada", "what?", filters=filters, deadline_ms=20_000)
        assert answer.status is Status.OK
        return [hit.memory_id for hit in answer.hits]

    with Client(stage.settings) as client:
        assert found("Travel") == found("newest") == ["soon"]
        assert found("Stale") == found("Grave") == []
    [kept] = stage.held().digest["ada"]
    assert (kept.memory_id, kept.subjects) == ("soon", ("newest", "travel"))
    showed(subjects=4, waited_through_kills=1)


def test_f60_a_worker_is_ready_at_once_however_much_is_stored(stage, workers, showed):
    names = [f"user-{number}" for number in range(1_000)]
    worker = workers(start=False)
    idle = seconds_of(worker.start)
    worker.stop()
    asyncio.run(filled(stage.settings, names, each=50))

    full = seconds_of(worker.start)
    with Client(stage.settings) as client:

        def ask(name):
            answer = client.ask(name, "note 7", deadline_ms=10_000)
            assert (answer.status, len(answer.hits)) == (Status.OK, 10)

        cold = sorted(seconds_of(lambda name=name: ask(name)) for name in names[:300])
    with Watch(stage.settings, names, deadline=5.0) as watch:
        workers()  # takes half of the partitions over
        until(lambda: watch.statuses["ok"] > 500)

    assert full < idle + 10.0
    assert cold[-1] < 2.0
    assert set(watch.statuses) <= {Status.OK, Status.NOT_READY}, watch.statuses
    showed(
        memories=50 * len(names), ready_without_s=idle, ready_with_s=full,
        cold_p50_s=cold[150], cold_p99_s=cold[296], longest_gap_of_takeover_s=watch.longest_gap,
    )  # fmt: skip


def seconds_of(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began
