"""What is counted and measured, and that no series can grow with users."""

import asyncio
import time

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

from streams import metrics
from streams.progress import Partition, Progress

CLOSED = {"topic", "partition", "outcome", "reason", "rule", "status", "tier", "le"}


class Caretaker:
    builds, saves = 2, 1


class Users:
    """As much of ``HotUsers`` as is looked at."""

    nbytes, loads, evictions, failures, damaged = 3_000_000, 7, 4, 1, 2
    caretaker = Caretaker()

    def __len__(self) -> int:
        return 3


class Store:
    """As much of ``RecordStore`` as is looked at."""

    losses = 5


def value(name: str, registry: CollectorRegistry = REGISTRY, /, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0.0


def exposed(progress: Progress) -> CollectorRegistry:
    registry = CollectorRegistry()
    metrics.expose(progress, Users(), Store(), registry=registry)
    return registry


def test_an_applied_event_is_counted_with_the_time_since_it_was_produced():
    before = value("seedmem_events_total", topic="applied-here", outcome="applied")

    metrics.applied("applied-here", time.time() - 3.0)

    after = value("seedmem_events_total", topic="applied-here", outcome="applied")
    seconds = value("seedmem_applied_after_seconds_sum", topic="applied-here")
    assert after == before + 1
    assert 3.0 <= seconds < 4.0


def test_a_producer_whose_clock_is_ahead_measures_no_negative_time():
    metrics.applied("from-the-future", time.time() + 60.0)

    assert value("seedmem_applied_after_seconds_sum", topic="from-the-future") == 0.0


def test_a_buried_event_is_counted_by_outcome_and_by_reason():
    metrics.buried("buried-here", "schema")

    assert value("seedmem_events_total", topic="buried-here", outcome="buried") == 1
    assert value("seedmem_dead_letters_total", topic="buried-here", reason="schema") == 1


def test_a_partition_shows_its_lag_and_where_it_is():
    progress = Progress(committed=lambda _: 5, end=lambda _: 12)
    progress.assign([Partition("query", 3)])
    progress.advance(Partition("query", 3), 8)
    registry = exposed(progress)

    place = {"topic": "query", "partition": "3"}
    assert value("seedmem_applied_offset", registry, **place) == 9
    assert value("seedmem_lag_events", registry, **place) == 3


def test_hot_users_show_as_they_are_when_somebody_looks():
    registry = exposed(Progress(committed=lambda _: None, end=lambda _: None))

    assert value("seedmem_hot_users", registry) == 3
    assert value("seedmem_hot_bytes", registry) == 3_000_000
    assert value("seedmem_cold_loads_total", registry) == 7
    assert value("seedmem_evictions_total", registry) == 4
    assert value("seedmem_damaged_records_total", registry) == 2
    assert value("seedmem_graph_builds_total", registry) == 2
    assert value("seedmem_store_losses_total", registry) == 5


def test_a_retraining_is_counted_by_outcome_and_by_what_decided_at_the_gate():
    metrics.retrained("refused", "chance", 4.0)
    metrics.retrained("declined", None, 1.0)

    outcomes = [value("seedmem_retrains_total", outcome=o) for o in ("refused", "declined")]
    assert outcomes == [1, 1]
    assert value("seedmem_gate_decisions_total", rule="chance") == 1
    assert value("seedmem_retrain_seconds_sum") == 5.0


def test_events_that_are_gone_are_counted_by_their_place():
    metrics.missed("memory-created", 3, 250)

    place = {"topic": "memory-created", "partition": "3"}
    assert value("seedmem_missed_events_total", **place) == 250


async def test_a_busy_event_loop_shows_how_late_it_is():
    before = value("seedmem_event_loop_lag_seconds_sum")
    watching = asyncio.create_task(metrics.watch_event_loop())
    await asyncio.sleep(0)  # the watch has asked for its timer

    time.sleep(metrics.LOOK + 0.2)  # noqa: ASYNC251 - what this is about: the loop is held up
    await asyncio.wait([watching], timeout=metrics.LOOK)  # its timer is overdue by now
    watching.cancel()

    assert value("seedmem_event_loop_lag_seconds_sum") - before >= 0.2


def test_every_label_is_of_a_closed_set():
    metrics.answered("ok", "dense", 0.01)
    metrics.retrained("promoted", "better", 1.0)
    progress = Progress(committed=lambda _: 0, end=lambda _: 1)
    progress.assign([Partition("query", 0)])

    labels = {
        label
        for registry in (REGISTRY, exposed(progress))
        for family in registry.collect()
        if family.name.startswith("seedmem_")
        for sample in family.samples
        for label in sample.labels
    }

    assert labels == CLOSED
    assert b"seedmem_query_seconds_bucket" in generate_latest()
