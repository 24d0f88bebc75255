"""Workers that leave and join under load: in time, with everything accepted done."""

import os
import signal
import time
from contextlib import ExitStack

import pytest
from kafka import KafkaAdminClient
from scenarios.stage import until
from scenarios.story import story, user_names
from scenarios.watch import Watch

from streams.archive import read_all
from streams.events import QueryAsked, QueryReply, Status
from streams.wire import decode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STORY = story(seed=11, events=2_000)
NAMES = user_names(200)
LEAVES_IN = 25.0  # seconds; k8s kills after 30


def requests(stage, *, committed_only):
    """Return the ids of the requests in the query topic."""
    ends = stage.committed(stage.topics.query)
    records = list(read_all(stage.settings, stage.topics.query))
    return {
        decode(r.value, QueryAsked).request_id
        for r in records
        if not committed_only or r.offset < ends[r.partition]
    }


def replies(stage):
    records = read_all(stage.settings, stage.topics.query_reply)
    return [decode(record.value, QueryReply) for record in records]


def is_rebalancing(stage):
    with KafkaAdminClient(bootstrap_servers=stage.settings.kafka) as admin:
        groups = admin.list_groups(states_filter=["preparing-rebalance", "completing-rebalance"])
    return stage.group in {group["group_id"] for group in groups}


def started(*several):
    """Start several workers at once and return when all are ready."""
    for worker in several:
        worker.launch()
    for worker in several:
        worker.process.wait_until(lambda worker=worker: worker.is_ready, timeout=90)


def left(worker, *, signals=1):
    """Send SIGTERM and return the exit code and the seconds it took."""
    began = time.monotonic()
    for number in range(signals):
        if number:
            time.sleep(0.3)
        os.kill(worker.process.pid, signal.SIGTERM)
    until(lambda: not worker.process.running, timeout=60, every=0.02)
    return worker.stop(), time.monotonic() - began


@pytest.mark.parametrize("how", ["once", "twice", "while the group rebalances"])
def test_f08_sigterm_under_load_leaves_in_time_and_every_accepted_query_has_a_reply(
    how, stage, workers, showed
):
    worker, other = workers(), workers(start=False)
    joined = how == "while the group rebalances"
    rate = 50 if joined else 150  # the story must outlast the other's start
    with Watch(stage.settings, NAMES, every=0.02) as watch, stage.playing(STORY, rate=rate) as over:
        until(lambda: watch.statuses["ok"] > 100)
        if joined:
            other.launch()
            until(lambda: is_rebalancing(stage), timeout=60, every=0.0)
        code, seconds = left(worker, signals=2 if how == "twice" else 1)
        assert not over.is_set()
    accepted = requests(stage, committed_only=True)
    without_reply = accepted - {reply.request_id for reply in replies(stage)}
    not_applied = stage.lag()
    worker.start()
    stage.settle()
    stage.check()

    assert code == 0, worker.log
    assert seconds < LEAVES_IN
    assert without_reply == set()
    everything = requests(stage, committed_only=False)
    until(lambda: everything <= {reply.request_id for reply in replies(stage)})
    showed(
        left_after_s=seconds, queries=len(everything), accepted=len(accepted),
        replies=len(replies(stage)), left_to_its_successor=not_applied,
    )  # fmt: skip


def test_f10_one_three_one_then_five_workers_on_four_partitions(stage, workers, showed):
    one, two, three, four, five = (workers(start=False) for _ in range(5))
    one.start()
    long = story(seed=12, events=9_000)
    with ExitStack() as stack:
        watch = stack.enter_context(Watch(stage.settings, NAMES, deadline=5.0))
        over = stack.enter_context(stage.playing(long, rate=100))
        started(two, three)
        assert (two.stop(), three.stop()) == (0, 0)
        started(two, three, four, five)
        assert not over.is_set()
        assert all(worker.is_ready for worker in (one, two, three, four, five))
    stage.settle()
    plain = stage.check()

    assert set(watch.statuses) <= {Status.OK, Status.NOT_READY}, watch.statuses
    showed(
        events=len(long), **plain.counts, answers=dict(watch.statuses),
        longest_gap_s=watch.longest_gap, p99_s=watch.percentile(0.99),
    )  # fmt: skip
