"""A service that a story is played to, and the comparison of what it holds with the plain model."""

import asyncio
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import pytest
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError

from scenarios.plain import Digest, Plain
from streams.archive import read_all
from streams.client import Answer, Client
from streams.digest import digests
from streams.events import Event, MemoryCreated, MemoryRecalled, Status, SubjectExtracted
from streams.settings import Role, Settings
from streams.store import SEQUENCE, RecordStore, connect
from streams.topics import Topics
from streams.wire import decode, encode, key_of

SPACE = "hash/64"
PATIENCE = 120.0  # seconds until all is applied; the machine may be busy
OUTAGE = 300.0  # seconds that the producer of a story outlasts without a broker

R = TypeVar("R")


def until(look: Callable[[], R], *, timeout: float = PATIENCE, every: float = 0.1) -> R:
    """Return the first true result of ``look``."""
    deadline = time.monotonic() + timeout
    while not (found := look()):
        assert time.monotonic() < deadline, f"still {found!r} after {timeout:g} s"
        time.sleep(every)
    return found


class Held(NamedTuple):
    """What a store holds."""

    digest: Digest
    pairs: dict[str, int]
    """Supervision pairs by user."""
    writes: int
    """Accepted so far, of memories, subjects and the vectors of subject names."""


class Stage:
    """One service: plays events to it, waits until a role has applied them, compares."""

    def __init__(self, settings: Settings, *, role: Role = "serve") -> None:
        self.settings, self.topics = settings, Topics(settings.namespace)
        self.group, self._role = f"{settings.namespace}seedmem-{role}", role
        self.told: list[Event] = []
        """What was played so far."""
        self._topic_of = {
            MemoryCreated: self.topics.memory_created,
            SubjectExtracted: self.topics.subject_extracted,
            MemoryRecalled: self.topics.memory_recalled,
        }

    def play(self, events: Sequence[Event], *, rate: float = 0.0) -> None:
        """Produce ``events`` in order and return when the broker has them all.

        ``rate`` is in events a second; 0: as fast as can be.
        """
        self._play(self._producer(), events, rate)

    @contextmanager
    def playing(self, events: Sequence[Event], *, rate: float) -> Iterator[threading.Event]:
        """Play ``events`` beside the block; the event given is set when all are produced."""
        done, producer = threading.Event(), self._producer()

        def run() -> None:
            self._play(producer, events, rate)
            done.set()

        with ThreadPoolExecutor(1) as pool:
            playing = pool.submit(run)
            yield done
            playing.result()

    def _producer(self) -> KafkaProducer:
        return KafkaProducer(
            bootstrap_servers=self.settings.kafka, acks="all", linger_ms=5,
            delivery_timeout_ms=int(1000 * OUTAGE), request_timeout_ms=5_000,
            max_block_ms=int(1000 * OUTAGE),
        )  # fmt: skip

    def _play(self, producer: KafkaProducer, events: Sequence[Event], rate: float) -> None:
        started, sent = time.monotonic(), []
        try:
            for number, event in enumerate(events):
                topic, key = self._topic_of[type(event)], key_of(event.user_id)
                sent.append(producer.send(topic, encode(event), key=key))
                if rate:
                    time.sleep(max(0.0, started + number / rate - time.monotonic()))
            for future in sent:
                future.get(OUTAGE)
        finally:
            producer.close(timeout=5)
        self.told += events

    def settle(self, *, timeout: float = PATIENCE) -> float:
        """Wait until the group has committed all events, and return how long that took, in s."""
        started = time.monotonic()
        until(lambda: self.lag() == 0, timeout=timeout)
        return time.monotonic() - started

    def lag(self) -> int | None:
        """Return how many events the group has not committed yet, None while Kafka is away.

        Questions are left out, so that a ``Watch`` may go on meanwhile.
        """
        try:
            with self._admin() as admin:
                ends, committed = self._ends(admin), self._committed(admin)
                return sum(
                    ends[place] - committed[place]
                    for place in self._places()
                    if place.topic != self.topics.query
                )
        except KafkaError:
            return None

    def committed(self, topic: str) -> dict[int, int]:
        """Return the committed offset of each partition of ``topic``; 0 where there is none."""
        with self._admin() as admin:
            return {p.partition: n for p, n in self._committed(admin).items() if p.topic == topic}

    def forget_offsets(self) -> None:
        """Have the group read everything again; waits until its last member is gone."""

        def deleted() -> bool:
            with self._admin() as admin:
                admin.delete_groups([self.group])  # refused while the group has a member
                return not admin.list_group_offsets(self.group)[self.group]

        until(deleted, timeout=30.0, every=0.5)

    def held(self) -> Held:
        """Return what the store holds, read through the product's own interface."""
        return asyncio.run(_held(self.settings))

    def log(self) -> Plain:
        """Return the plain model of what is in the topics, which must be what was played."""
        plain = Plain()
        found: dict[tuple[str, type], list[Event]] = defaultdict(list)
        for kind, topic in self._topic_of.items():
            for record in read_all(self.settings, topic):
                found[record.key.decode(), kind].append(decode(record.value, kind))
        told: dict[tuple[str, type], list[Event]] = defaultdict(list)
        for event in self.told:
            told[event.user_id, type(event)].append(event)
        assert found == told
        plain.apply(self.told)
        return plain

    def check(self, *, questions: int = 60) -> Plain:
        """Assert that state, pairs and answers are those of the plain model of the log."""
        plain, held = self.log(), self.held()
        assert held.pairs == plain.pairs()
        assert held.digest == plain.digest()
        with Client(self.settings) as client, ThreadPoolExecutor(4) as pool:
            asked = _questions(plain, questions)
            answers = pool.map(lambda q: client.ask(*q, k=1_000, deadline_ms=30_000), asked)
            for (user_id, text), answer in zip(asked, answers, strict=True):
                _compare(plain, user_id, text, answer)
        return plain

    def _admin(self) -> KafkaAdminClient:
        return KafkaAdminClient(
            bootstrap_servers=self.settings.kafka, bootstrap_timeout_ms=2_000,
            request_timeout_ms=5_000,
        )  # fmt: skip

    def _places(self) -> list[TopicPartition]:
        names = self.topics
        read = {
            "serve": (*self._topic_of.values(), names.query, names.user_erased),
            "extract": (names.memory_created,),
            "retrain": (names.adapter_retrain,),
        }[self._role]
        return [TopicPartition(t, p) for t in read for p in range(self.settings.partitions)]

    def _ends(self, admin: KafkaAdminClient) -> dict[TopicPartition, int]:
        specs = dict.fromkeys(self._places(), OffsetSpec.LATEST)
        return {p: end.offset for p, end in admin.list_partition_offsets(specs).items()}

    def _committed(self, admin: KafkaAdminClient) -> dict[TopicPartition, int]:
        stored: dict[TopicPartition, Any] = admin.list_group_offsets(self.group)[self.group]
        known = {place: max(0, kept.offset) for place, kept in stored.items()}
        return dict.fromkeys(self._places(), 0) | known


async def _held(settings: Settings) -> Held:
    store = await connect(settings, SPACE)
    try:
        digest = {d.user_id: d.memories async for d in digests(store) if d.memories}
        users = [name async for name in store.users()]
        pairs = {name: await _pairs(store, name) for name in users}
        writes = sum([await _writes(store, name) for name in users])
        return Held(digest, {name: count for name, count in pairs.items() if count}, writes)
    finally:
        await store.close()


async def _pairs(store: RecordStore, user_id: str) -> int:
    fields = {field async for page in store.pairs(user_id) for field in page}
    return len(fields - {SEQUENCE})


async def _writes(store: RecordStore, user_id: str) -> int:
    counts = [int(page.get(SEQUENCE, 0)) async for page in store.read(user_id)]
    return max(counts, default=0)


def _questions(plain: Plain, count: int) -> list[tuple[str, str]]:
    """Return users and questions: half of them the very text of a memory."""
    chance, asked = random.Random(5), []
    for user_id in chance.choices(plain.users, k=count):
        texts = list(plain.texts(user_id).values())
        own = texts and chance.random() < 0.5
        asked.append((user_id, chance.choice(texts) if own else "who repaired the piano?"))
    return asked


def _compare(plain: Plain, user_id: str, text: str, answer: Answer) -> None:
    """Assert an answer to a question that asks for all of a user's memories."""
    assert (answer.user_id, answer.status) == (user_id, Status.OK), answer.reason
    texts = plain.texts(user_id)
    assert {hit.memory_id: hit.text for hit in answer.hits} == texts
    exact = plain.answer(user_id, text, k=1_000)
    found = {hit.memory_id: hit.score for hit in answer.hits}
    assert found == pytest.approx({hit.memory_id: hit.score for hit in exact.hits}, abs=5e-3)
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
