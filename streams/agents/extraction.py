"""memory-created → subject-extracted: when nobody upstream extracts subjects.

A subject that this role emits belongs to one memory: its id is a hash of the
memory and the name. So a replay emits the same subjects again, and a memory
that changed or went buries exactly those of its own that no longer hold.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from hashlib import blake2b

import faust
import msgspec

from seedmem.extract import Extracted, Extractor
from seedmem.text import is_blank, normal
from streams.delivery import Delivery, Stream
from streams.events import MemoryCreated, SubjectExtracted
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.outbox import Outbox
from streams.settings import Settings
from streams.store import EXTRACTED, RecordStore, Write, field
from streams.topics import Topics
from streams.wire import encode, key_of

Created = Received[MemoryCreated]


def register(
    app: faust.App,
    topics: Topics,
    settings: Settings,
    delivery: Delivery,
    *,
    extractor: Extractor,
    store: RecordStore,
    outbox: Outbox,
    pool: Executor,
) -> None:
    """Add the agent to ``app``."""

    async def emit(created: Sequence[Created]) -> None:
        texts = ["" if c.event.deleted else c.event.text for c in created]
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(pool, extractor.extract, texts)
        done = await _done_before(created, store)
        events, writes = [], []
        for received, subjects in zip(created, found, strict=True):
            identity = (received.event.user_id, received.event.memory_id)
            before = done.get(identity)
            if before is not None and before.covers(received):
                continue
            now = {normal(subject.name): subject for subject in subjects}
            events += _changes(received.event, before.names if before else (), now)
            version = received.event.version
            if version is None and before is not None:
                version = before.version  # as the store does: it takes the version that is there
            done[identity] = _Done(version, received.offset, tuple(sorted(now)))
            writes.append(_write(received, done[identity]))
        await asyncio.gather(*(_send(event, topics, outbox) for event in events))
        await store.put(writes)

    @app.agent(raw_topic(app, topics.memory_created), name="extract_subjects", concurrency=1)
    async def extract_subjects(stream: Stream) -> None:
        """Emit each memory's subjects, then remember which, then ack it."""
        await delivery.in_batches(
            stream,
            lambda received: received,
            emit,
            kind=MemoryCreated,
            size=settings.batch_size,
            within=settings.batch_wait,
        )


@dataclass(frozen=True, slots=True)
class _Done:
    """What was emitted for a memory, and for which event."""

    version: int | None
    arrival: int
    names: tuple[str, ...]

    def covers(self, received: Created) -> bool:
        """Whether the event, or a newer one, was seen to already."""
        version = received.event.version
        if version is None:
            return received.offset <= self.arrival
        return self.version is not None and version <= self.version


async def _done_before(
    created: Sequence[Created], store: RecordStore
) -> dict[tuple[str, str], _Done]:
    of_user: dict[str, set[str]] = defaultdict(set)
    for received in created:
        of_user[received.event.user_id].add(received.event.memory_id)
    done = {}
    for user_id, memory_ids in of_user.items():
        names = [field(EXTRACTED, memory_id) for memory_id in memory_ids]
        stored = await store.get_many(user_id, names)
        for memory_id, value in zip(memory_ids, stored, strict=True):
            if value is not None:
                emitted = msgspec.msgpack.decode(value.payload, type=tuple[str, ...])
                done[user_id, memory_id] = _Done(value.version, value.arrival, emitted)
    return done


def _write(received: Created, done: _Done) -> Write:
    event = received.event
    payload = msgspec.msgpack.encode(done.names)
    name = field(EXTRACTED, event.memory_id)
    return Write(event.user_id, name, event.version, received.offset, payload)


async def _send(event: SubjectExtracted, topics: Topics, outbox: Outbox) -> None:
    await outbox.send(topics.subject_extracted, key=key_of(event.user_id), value=encode(event))


def _changes(
    event: MemoryCreated, before: Sequence[str], now: Mapping[str, Extracted]
) -> list[SubjectExtracted]:
    gone = [name for name in before if name not in now]
    return [*_created(event, now.values()), *_buried(event, gone)]


def _created(event: MemoryCreated, subjects: Iterable[Extracted]) -> list[SubjectExtracted]:
    return [
        SubjectExtracted(
            user_id=event.user_id,
            subject_id=_subject_id(event.memory_id, normal(subject.name)),
            name=subject.name,
            type=subject.type,
            memory_ids=[event.memory_id],
            version=event.version,
        )
        for subject in subjects
        if not is_blank(subject.name)
    ]


def _buried(event: MemoryCreated, names: Iterable[str]) -> list[SubjectExtracted]:
    return [
        SubjectExtracted(
            user_id=event.user_id,
            subject_id=_subject_id(event.memory_id, name),
            version=event.version,
            deleted=True,
        )
        for name in names
    ]


def _subject_id(memory_id: str, name: str) -> str:
    identity = f"{len(memory_id)}:{memory_id}{name}".encode()
    return f"auto-{blake2b(identity, digest_size=12).hexdigest()}"
