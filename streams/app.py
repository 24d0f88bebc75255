"""The composition root: settings in, one running worker of one role out."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

import faust
import tenacity
from faust.types import TP

from seedmem.encode import Encoder, RemoteOptions, load_encoder
from streams import metrics, selftest, topics, tracing
from streams.cpus import available_cpus
from streams.delivery import end_process
from streams.errors import TransientError
from streams.faustapp import make_app
from streams.health import HealthServer
from streams.intake import owner_of
from streams.interpreter import settle_in
from streams.logs import configure
from streams.progress import Partition, Progress
from streams.roles import ROLES, Parts
from streams.settings import Settings
from streams.store import RecordStore, connect
from streams.wire import key_of

logger = logging.getLogger(__name__)

STARTUP = 60.0  # seconds that Kafka and Redis get to answer before the worker gives up
SHUTDOWN = 20.0  # seconds from the signal until the process ends, finished or not
FITTING = 15  # times ``stuck_after`` for the role retrain, whose events are fits
CAUGHT_UP = 1_000  # events that a partition may lag behind while the worker is ready
PING = 1.0  # seconds between two looks at Redis

R = TypeVar("R")


def run(settings: Settings) -> None:
    """Run one worker until SIGTERM or SIGINT.

    Raises:
        StreamsError: it cannot start, or a dependency refused for good.
    """
    configure(settings.log_format)
    tracing.start(settings, f"seedmem-{settings.role}")
    asyncio.run(Worker(settings).run())
    tracing.flush()
    logging.shutdown()
    os._exit(0)  # a thread that still fits an adapter would hold the process; it decides nothing


class Worker:
    """One worker process: starts its parts in order, says how it is, and leaves in order."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._progress: Progress | None = None
        self._trouble: str | None = "starting"
        self._redis_seen_at = float("-inf")

    async def run(self) -> None:
        """Start, serve until a signal, leave with everything accepted done."""
        settings = self._settings
        health = HealthServer(
            settings.health_host, settings.health_port, live=self._live, ready=self._ready
        )
        health.start()
        logger.info("role %s, health on port %d", settings.role, health.port)
        logger.info("%d threads a pool, %d CPUs", settings.threads, available_cpus())
        try:
            encoder = await asyncio.to_thread(_load_encoder, settings)
            await asyncio.to_thread(selftest.run, encoder)
            await _patiently(lambda: asyncio.to_thread(topics.check, settings))
            resumes = await _patiently(lambda: asyncio.to_thread(topics.was_read, settings))
            store = await _patiently(lambda: connect(settings, str(encoder.space), resumes=resumes))
            app = make_app(settings)
            self._progress = progress_of(app)
            parts = Parts(app, settings, encoder, store, self._progress)
            metrics.expose(self._progress, parts.users, store)
            ROLES[settings.role](parts)
            await _patiently(lambda: asyncio.to_thread(_report_gaps, app, settings))
            self._follow_assignment(parts)
            await self._serve(app, store)
        finally:
            health.close()

    async def _serve(self, app: faust.App, store: RecordStore) -> None:
        """Run ``app`` until a signal comes; whatever else ends it, ends the process at once."""
        signalled = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, signalled.set)
        watching = asyncio.create_task(self._watch_redis(store))
        measuring = asyncio.create_task(metrics.watch_event_loop())
        try:
            await app.start()
            settle_in()
            logger.info("started")
            running = asyncio.create_task(app.wait(signalled.wait()))
            done, _ = await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
            self._trouble = "stopping"
            watching.cancel()
            measuring.cancel()
            async with asyncio.timeout(SHUTDOWN):
                await app.stop()
                await store.close()
        except Exception as error:
            end_process(str(error) or repr(error), error)

    def _follow_assignment(self, parts: Parts) -> None:
        """Keep progress and hot users to the partitions that are ours."""
        total = self._settings.partitions

        async def on_revoked(_app: Any, /, *revoked: Any, **_: Any) -> None:
            self._trouble = "no partitions are assigned"
            gone = {tp.partition for tp in revoked[0]}
            parts.progress.assign(())
            parts.users.drop(lambda user: owner_of(key_of(user), total) in gone)

        async def on_assigned(_app: Any, /, *assigned: Any, **_: Any) -> None:
            parts.progress.assign(Partition(tp.topic, tp.partition) for tp in assigned[0])
            ours = {tp.partition for tp in assigned[0]}
            if max(ours, default=0) >= total:
                end_process(
                    f"a partition {max(ours)} was added and SEEDMEM_PARTITIONS is {total}: "
                    "most users are on another partition now; move to new topics"
                )
            parts.users.drop(lambda user: owner_of(key_of(user), total) not in ours)
            self._trouble = None

        parts.app.on_partitions_revoked.connect(on_revoked, weak=False)
        parts.app.on_partitions_assigned.connect(on_assigned, weak=False)

    async def _watch_redis(self, store: RecordStore) -> None:
        """Note when Redis answered last. Raises ``PermanentError`` when it refuses."""
        while True:
            try:
                await store.ping()
                if self._redis_is_away and self._progress is not None:
                    self._progress.excuse()  # what stood still while Redis was away is not stuck
                self._redis_seen_at = time.monotonic()
            except TransientError as error:
                logger.warning("Redis is away: %s", error)
            await asyncio.sleep(PING)

    @property
    def _redis_is_away(self) -> bool:
        return time.monotonic() - self._redis_seen_at > 5 * PING

    def _live(self) -> str | None:
        settings = self._settings
        patience = settings.stuck_after * (FITTING if settings.role == "retrain" else 1)
        if self._progress is None or self._redis_is_away:
            return None
        stuck = self._progress.stuck(patience)
        return f"no progress for {patience:g} s: {', '.join(map(str, stuck))}" if stuck else None

    def _ready(self) -> str | None:
        if self._trouble is not None or self._progress is None:
            return self._trouble
        if self._redis_is_away:
            return "Redis is away"
        behind = {p: n for p, n in self._progress.lag().items() if n > CAUGHT_UP}
        return ", ".join(f"{p} is {n} events behind" for p, n in behind.items()) or None


def _load_encoder(settings: Settings) -> Encoder:
    remote = RemoteOptions(
        api_key=settings.encoder_key,
        base_url=settings.encoder_url,
        project=settings.encoder_project,
        location=settings.encoder_location,
        dim=settings.encoder_dim,
    )
    return load_encoder(settings.encoder, threads=settings.threads, remote=remote)


def _report_gaps(app: faust.App, settings: Settings) -> None:
    """Log and count the events that were deleted before this role had read them."""
    names = {name for agent in app.agents.values() for name in agent.get_topic_names()}
    gaps = topics.gaps(settings, names)
    missed = [gap for gap in gaps if gap.first is not None]
    for gap in missed:
        metrics.missed(gap.topic, gap.partition, gap.end - (gap.first or 0))
    if missed:
        logger.error("events were deleted before they were read: %s", _listed(missed))
    if unknown := [gap for gap in gaps if gap.first is None]:
        logger.warning("the group has no offset, and the topic has lost: %s", _listed(unknown))


def _listed(gaps: Iterable[topics.Gap]) -> str:
    """In one line: of many, the limit on the rate of lines would hide some."""
    return ", ".join(f"{g.topic}[{g.partition}] {g.first or 0} to {g.end - 1}" for g in gaps)


def progress_of(app: faust.App) -> Progress:
    """Return the progress of the partitions that ``app`` consumes."""

    def committed(partition: Partition) -> int | None:
        offset: int | None = cast(Any, app.consumer)._committed_offset[TP(*partition)]
        return offset

    def end(partition: Partition) -> int | None:
        offset: int | None = app.consumer.highwater(TP(*partition))
        return offset

    return Progress(committed=committed, end=end)


async def _patiently(call: Callable[[], Awaitable[R]]) -> R:
    """Return what ``call`` returns, repeating it while a dependency is away, ``STARTUP`` s long."""
    async for attempt in tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=2.0),
        stop=tenacity.stop_after_delay(STARTUP),
        before_sleep=tenacity.before_sleep_log(logger, logging.WARNING),
        reraise=True,
    ):
        with attempt:
            return await call()
    raise AssertionError("unreachable: the loop above ends by return or raise")
