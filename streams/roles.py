"""Which agents a role runs, and what each of them is given."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec

import faust
from aiokafka.errors import KafkaError
from faust.types import TP

from seedmem.encode import Encoder
from seedmem.extract import load_extractor
from streams.agents import (
    adapters,
    erasure,
    extraction,
    memories,
    pairs,
    queries,
    retraining,
    subjects,
)
from streams.delivery import Delivery
from streams.embedding import Embedder
from streams.errors import MissingToolError
from streams.intake import Intake
from streams.outbox import Outbox
from streams.patience import patiently
from streams.progress import Progress
from streams.settings import Settings
from streams.store import RecordStore
from streams.topics import Topics
from streams.users import HotUsers


@dataclass
class Parts:
    """What the agents of one worker share."""

    app: faust.App
    settings: Settings
    encoder: Encoder
    store: RecordStore
    progress: Progress
    topics: Topics = field(init=False)
    outbox: Outbox = field(init=False)
    delivery: Delivery = field(init=False)
    users: HotUsers = field(init=False)
    for_queries: ThreadPoolExecutor = field(init=False)
    for_ingest: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self.topics = Topics(settings.namespace)
        self.outbox = Outbox(self.app)
        # What extract refuses, serve reads too and buries: one dead letter for one event.
        dead_letter = None if settings.role == "extract" else self.topics.dead_letter
        intake = Intake(self.outbox, dead_letter=dead_letter, partitions=settings.partitions)
        self.delivery = Delivery(self.app, intake, self.progress)
        self.for_queries = ThreadPoolExecutor(settings.threads, thread_name_prefix="queries")
        self.for_ingest = ThreadPoolExecutor(settings.threads, thread_name_prefix="ingest")
        self.users = HotUsers(
            self.store,
            self.encoder.space,
            self.for_ingest,
            hot_bytes=settings.hot_bytes,
            exact_limit=settings.exact_limit,
        )


def serve(parts: Parts) -> None:
    """Memories and subjects in, questions answered, supervision kept."""
    app, topics, settings, delivery = parts.app, parts.topics, parts.settings, parts.delivery
    embedder = Embedder(parts.encoder, parts.for_ingest)
    for agent in (memories, subjects):
        agent.register(
            app,
            topics,
            settings,
            delivery,
            embedder=embedder,
            store=parts.store,
            users=parts.users,
        )
    pairs.register(app, topics, settings, delivery, store=parts.store, outbox=parts.outbox)
    adapters.register(app, topics, settings, delivery, users=parts.users)
    erasing = erasure.Erasing(
        topics=topics,
        store=parts.store,
        users=parts.users,
        outbox=parts.outbox,
        ends_of=lambda names, number: ends_of(app, names, number),
    )
    erasure.register(app, settings, delivery, erasing)
    answering = queries.Answering(
        topics=topics,
        settings=settings,
        encoder=parts.encoder,
        store=parts.store,
        users=parts.users,
        progress=parts.progress,
        outbox=parts.outbox,
        pool=parts.for_queries,
    )
    queries.register(app, delivery, answering)


async def ends_of(app: faust.App, names: Iterable[str], number: int) -> dict[str, int]:
    """Return the offset of the next event on partition ``number`` of each topic, by the broker."""
    places = [TP(name, number) for name in names]
    ends = await patiently(lambda: app.consumer.highwaters(*places), on=(KafkaError,))
    return {place.topic: int(ends[place]) for place in places}


def extract(parts: Parts) -> None:
    """Memories in, their subjects out."""
    extraction.register(
        parts.app,
        parts.topics,
        parts.settings,
        parts.delivery,
        extractor=load_extractor(),
        store=parts.store,
        outbox=parts.outbox,
        pool=parts.for_ingest,
    )


def retrain(parts: Parts) -> None:
    """Requests in, adapters that passed the gate out.

    Raises:
        MissingToolError: torch is not installed.
    """
    if find_spec("torch") is None:
        raise MissingToolError("role retrain needs torch: pip install 'seedmem[learn]'")
    job = retraining.Retraining(
        topics=parts.topics,
        settings=parts.settings,
        encoder=parts.encoder,
        store=parts.store,
        outbox=parts.outbox,
    )
    retraining.register(parts.app, parts.delivery, job)


ROLES: dict[str, Callable[[Parts], None]] = {
    "serve": serve,
    "extract": extract,
    "retrain": retrain,
}
