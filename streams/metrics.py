"""What a worker counts and measures, on the registry that ``/metrics`` serves.

Labels are of closed sets: topics, partitions, outcomes, reasons, statuses. None grows with users.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streams.progress import Partition, Progress
from streams.store import RecordStore
from streams.users import HotUsers

LOOK = 0.1  # seconds between two looks at the event loop

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0)

_events = Counter("seedmem_events", "Events by what became of them", ["topic", "outcome"])
_dead_letters = Counter("seedmem_dead_letters", "Events that were refused", ["topic", "reason"])
_missed = Counter(
    "seedmem_missed_events",
    "Events that retention deleted before they were read",
    ["topic", "partition"],
)
_applied_after = Histogram(
    "seedmem_applied_after_seconds",
    "From an event's timestamp until it is applied; of memory-created: until it is searchable",
    ["topic"],
    buckets=_SECONDS,
)
_queries = Histogram(
    "seedmem_query_seconds",
    "From taking up a query to its reply",
    ["status", "tier"],
    buckets=_SECONDS[:11],
)
_retrains = Counter("seedmem_retrains", "Retrainings by what came of them", ["outcome"])
_gate = Counter("seedmem_gate_decisions", "Candidates by the rule that decided", ["rule"])
_fits = Histogram(
    "seedmem_retrain_seconds",
    "Reading a user, fitting and judging",
    buckets=(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0),
)
_loop_lag = Histogram(
    "seedmem_event_loop_lag_seconds",
    "How much later than asked the event loop ran a timer",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
)


def applied(topic: str, timestamp: float) -> None:
    """Count an event that has taken effect; ``timestamp`` in seconds since the epoch."""
    _events.labels(topic, "applied").inc()
    _applied_after.labels(topic).observe(max(0.0, time.time() - timestamp))


def buried(topic: str, reason: str) -> None:
    """Count an event that went to the dead-letter topic."""
    _events.labels(topic, "buried").inc()
    _dead_letters.labels(topic, reason).inc()


def answered(status: str, tier: str, seconds: float) -> None:
    """Count a reply to a query; ``tier`` is what found its best hit."""
    _queries.labels(status, tier).observe(seconds)


def retrained(outcome: str, rule: str | None, seconds: float) -> None:
    """Count a retraining; ``rule`` is what decided at the gate, None if it did not get there."""
    _retrains.labels(outcome).inc()
    _fits.observe(seconds)
    if rule is not None:
        _gate.labels(rule).inc()


def missed(topic: str, partition: int, events: int) -> None:
    """Count events that were gone from the topic before they were read."""
    _missed.labels(topic, str(partition)).inc(events)


async def watch_event_loop() -> None:
    """Measure, for ever, how late the running event loop is."""
    while True:
        asked = time.perf_counter()
        await asyncio.sleep(LOOK)
        _loop_lag.observe(max(0.0, time.perf_counter() - asked - LOOK))


class WorkerCollector(Collector):
    """Reads a worker's partitions and hot users whenever somebody looks."""

    def __init__(self, progress: Progress, users: HotUsers, store: RecordStore) -> None:
        self._progress, self._users, self._store = progress, users, store

    def collect(self) -> Iterator[Metric]:
        """Yield what is true now. Called from the thread of the health server."""
        yield _by_partition(
            "seedmem_lag_events", "Events that wait to be applied", self._progress.lag()
        )
        yield _by_partition(
            "seedmem_applied_offset", "Offset of the next event", self._progress.positions()
        )
        users = self._users
        yield GaugeMetricFamily("seedmem_hot_users", "Users in memory", len(users))
        yield GaugeMetricFamily("seedmem_hot_bytes", "Bytes of users in memory", users.nbytes)
        yield _total("seedmem_cold_loads", "Users that were loaded from Redis", users.loads)
        yield _total("seedmem_evictions", "Users let go for others", users.evictions)
        yield _total("seedmem_apply_failures", "Users let go after a fault", users.failures)
        yield _total("seedmem_damaged_records", "Stored records left out", users.damaged)
        yield _total(
            "seedmem_store_losses", "Users with a part of their keys missing", self._store.losses
        )
        yield _total("seedmem_graph_builds", "Graphs that were built", users.caretaker.builds)
        yield _total("seedmem_graph_saves", "Graphs that were saved", users.caretaker.saves)


def expose(
    progress: Progress,
    users: HotUsers,
    store: RecordStore,
    *,
    registry: CollectorRegistry = REGISTRY,
) -> None:
    """Have ``registry`` read a worker's partitions, hot users and store from now on."""
    registry.register(WorkerCollector(progress, users, store))


def _by_partition(name: str, text: str, values: Mapping[Partition, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["topic", "partition"])
    for partition, value in values.items():
        family.add_metric([partition.topic, str(partition.number)], value)
    return family


def _total(name: str, text: str, value: int) -> Metric:
    family = CounterMetricFamily(name, text)
    family.add_metric([], value)
    return family
