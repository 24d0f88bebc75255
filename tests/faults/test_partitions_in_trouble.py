"""A partition stands still, is added to a live topic, or has lost what nobody had read."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from kafka import KafkaAdminClient, TopicPartition
from scenarios.facts import samples
from scenarios.stage import until
from scenarios.story import DIM, story, user_names
from scenarios.watch import Watch

from streams.archive import end_of
from streams.client import Client
from streams.events import MemoryCreated, Status, SubjectExtracted
from streams.intake import owner_of
from streams.wire import key_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

STUCK = 3.0  # seconds until liveness fails, in these tests


def health(worker, path):
    """Return the status and the text that a worker answers."""
    try:
        with urlopen(f"http://127.0.0.1:{worker.port}{path}") as answer:
            return answer.status, answer.read().decode().strip()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode().strip()


def remains(claim, *, seconds):
    """Assert that a claim holds whenever it is looked at."""
    until_then = time.monotonic() + seconds
    while time.monotonic() < until_then:
        assert claim()
        time.sleep(0.1)


def test_f06_a_partition_that_is_held_up_fails_liveness_by_name_and_an_idle_one_does_not(
    stage, faulty, showed
):
    worker, hold = faulty(stuck_after=STUCK)
    topic, partition = stage.topics.memory_created, owner_of(key_of("ada"), 4)
    stage.play([MemoryCreated(user_id="ada", memory_id="m0", text="the tap leaks")])
    stage.settle()
    remains(lambda: health(worker, "/live")[0] == 200, seconds=2.5 * STUCK)

    hold.touch()
    stage.play([MemoryCreated(user_id="ada", memory_id="m1", text="HOLD this")])
    until(lambda: hold.read_text() == "held")
    held_at = time.monotonic()
    link = SubjectExtracted(
        user_id="ada", subject_id="s", name="Home", memory_ids=["m0"], vector=[1.0] * DIM
    )
    stage.play([link])  # other partitions go on
    end = end_of(stage.settings, stage.topics.subject_extracted, partition)
    until(lambda: stage.committed(stage.topics.subject_extracted)[partition] == end)
    until(lambda: health(worker, "/live")[0] == 503, timeout=4 * STUCK)
    seconds = time.monotonic() - held_at

    assert health(worker, "/live")[1] == f"no progress for {STUCK:g} s: {topic}[{partition}]"
    waiting = {
        (labels["topic"], labels["partition"]): value
        for name, labels, value in samples(worker)
        if name == "seedmem_lag_events" and value
    }
    assert waiting == {(topic, str(partition)): 1}
    worker.kill()
    hold.unlink()
    worker.start()
    stage.settle()
    stage.check()
    showed(named=f"{topic}[{partition}]", configured_s=STUCK, failed_after_s=seconds)


def test_f16_partitions_added_to_live_topics_end_the_workers_and_no_user_is_found_empty(
    stage, workers, showed
):
    told = story(seed=16, users=30, events=300)
    pair = [workers(), workers()]
    stage.play(told)
    stage.settle()
    grown = dict.fromkeys(
        (stage.topics.memory_created, stage.topics.subject_extracted, stage.topics.query), 6
    )

    with KafkaAdminClient(bootstrap_servers=stage.settings.kafka) as admin:
        admin.create_partitions(grown)
    added_at, names = time.monotonic(), user_names(8)
    with Client(stage.settings) as client, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda name: reply_to(client, name), names))
    until(lambda: not any(worker.process.running for worker in pair), timeout=120)
    seconds = time.monotonic() - added_at

    answered = [reply for reply in replies if reply is not None and reply.status is Status.OK]
    texts = {name: stage.log().texts(name) for name in names}
    assert all({h.memory_id: h.text for h in r.hits} == texts[r.user_id] for r in answered)
    for worker in pair:
        assert worker.stop() not in (0, -9)
        assert "SEEDMEM_PARTITIONS is 4" in worker.log.splitlines()[-1]
    assert stage.held().digest == stage.log().digest()
    showed(
        answered_whole=len(answered), others=Counter(str(r and r.status) for r in replies),
        all_ended_after_s=seconds,
    )  # fmt: skip


def reply_to(client, name):
    """Return the reply to a question; None when its partition is read by nobody any more."""
    with suppress(TimeoutError):
        return client.ask(name, "who?", k=1_000, deadline_ms=5_000)


def test_f17_events_deleted_before_they_were_read_are_reported_and_the_rest_is_applied(
    stage, workers, showed
):
    told = story(seed=17, users=20, events=600)
    worker = workers()
    stage.play(told[:200])
    stage.settle()
    worker.stop()
    committed = stage.committed(stage.topics.memory_created)
    stage.play(told[200:400])
    left = {p: end_of(stage.settings, stage.topics.memory_created, p) for p in range(4)}
    with KafkaAdminClient(bootstrap_servers=stage.settings.kafka) as admin:
        admin.delete_records(
            {TopicPartition(stage.topics.memory_created, p): end for p, end in left.items()}
        )
    stage.play(told[400:])

    worker.start()
    stage.settle()
    until(lambda: worker.is_ready)

    missed = {
        int(labels["partition"]): int(value)
        for name, labels, value in samples(worker)
        if name == "seedmem_missed_events_total"
    }
    assert missed == {p: left[p] - committed[p] for p in range(4)}
    listed = (f"memory-created[{p}] {committed[p]} to {left[p] - 1}" for p in range(4))
    assert all(gap in worker.log for gap in listed)
    held, names = stage.held(), {event.user_id for event in told}
    newest = {  # what each user said last, where nothing can be missing
        e.user_id: e.memory_id
        for e in told[400:]
        if isinstance(e, MemoryCreated) and not e.deleted and e.version is None
    }
    kept = {name: {m.memory_id for m in held.digest.get(name, ())} for name in names}
    assert newest
    assert all(kept[name] for name in newest)
    with Watch(stage.settings, sorted(names)) as watch:
        until(lambda: watch.statuses["ok"] > 50)
    assert set(watch.statuses) <= {Status.OK, Status.NOT_READY}
    showed(missed=sum(missed.values()), reported=missed, applied_after=len(told[400:]))


def test_f17_a_group_without_offsets_reads_all_again_onto_the_state_that_is_there(
    stage, workers, showed
):
    told = story(seed=18, users=20, events=400)
    worker = workers()
    stage.play(told)
    stage.settle()
    before = stage.held()
    worker.stop()

    stage.forget_offsets()
    worker.start()
    stage.settle()

    stage.check()
    assert stage.held() == before
    showed(read_again=len(told), writes_changed=0)
