"""memory-created → record and index: make memories durable, then searchable."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import faust
import msgspec

from seedmem.memory import Deleted, Kind, Memory, Record
from seedmem.text import Terms, hash_terms, terms
from seedmem.vectors import Matrix, Vector, VectorSpace, pack, unpack
from streams.agents.vectors import check_text, given_vector
from streams.delivery import Delivery, Stream
from streams.embedding import Embedder
from streams.events import MemoryCreated
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.loader import Entry
from streams.records import encode, field_of
from streams.settings import Settings
from streams.store import Placed, RecordStore, Write
from streams.topics import Topics
from streams.users import HotUsers
from streams.wire import seconds


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked event, before it is encoded and placed."""

    event: MemoryCreated
    arrival: int
    vector: Vector | None
    created_at: float | None


def register(
    app: faust.App,
    topics: Topics,
    settings: Settings,
    delivery: Delivery,
    *,
    embedder: Embedder,
    store: RecordStore,
    users: HotUsers,
) -> None:
    """Add the agent to ``app``."""

    def prepare(received: Received[MemoryCreated]) -> Draft:
        return draft(received, embedder.space)

    async def index(drafts: Sequence[Draft]) -> None:
        bare = [d.event.text for d in drafts if d.vector is None and not d.event.deleted]
        encoded = await embedder.encode(bare)
        entries, writes = await embedder.run(_records, drafts, encoded, embedder.space)
        fresh: dict[str, list[Entry]] = defaultdict(list)
        async with users.changing:
            placed = await store.put(writes)
            for d, (record, hashes), place in zip(drafts, entries, placed, strict=True):
                if place is not None:  # not refused as older than what is stored
                    fresh[d.event.user_id].append((_placed(record, place), hashes))
            for user_id, entries_of_user in fresh.items():
                await users.apply(user_id, entries_of_user)

    @app.agent(raw_topic(app, topics.memory_created), name="index_memories", concurrency=1)
    async def index_memories(stream: Stream) -> None:
        """Make each memory durable, then searchable, then ack it, in offset order."""
        await delivery.in_batches(
            stream,
            prepare,
            index,
            kind=MemoryCreated,
            size=settings.batch_size,
            within=settings.batch_wait,
        )


def draft(received: Received[MemoryCreated], space: VectorSpace) -> Draft:
    """Return the checked event. Raises ``RefusedError``."""
    event = received.event
    created_at = seconds(event.created_at, field="created_at")
    if event.deleted:
        return Draft(event, received.offset, None, created_at)
    check_text(event.text, field="$.text")
    vector = given_vector(event.vector, event.encoder, space)
    return Draft(event, received.offset, vector, created_at)


def _records(
    drafts: Sequence[Draft], encoded: Matrix, space: VectorSpace
) -> tuple[list[Entry], list[Write]]:
    """Return each draft's record and its write: CPU work, some milliseconds a batch.

    ``encoded`` has a row for each draft that is no tombstone and had no vector.
    """
    rows = iter(encoded)
    entries: list[Entry] = []
    for d in drafts:
        if d.event.deleted:
            tombstone = Deleted(kind=Kind.MEMORY, id=d.event.memory_id, sequence=0)
            entries.append((tombstone, None))
        else:
            entries.append(_memory(d, next(rows) if d.vector is None else d.vector, space))
    return entries, [_write(d, entry) for d, entry in zip(drafts, entries, strict=True)]


def _memory(draft: Draft, vector: Vector, space: VectorSpace) -> tuple[Memory, Terms]:
    event = draft.event
    memory = Memory(
        memory_id=event.memory_id,
        text=event.text,
        vector=unpack(pack(vector), space.dim),  # as it will be loaded: a restart changes no score
        sequence=0,
        born=0,
        created_at=draft.created_at,
        session_id=event.session_id,
        role=event.role,
        metadata={name: _text(value) for name, value in event.metadata.items()},
    )
    return memory, hash_terms(terms(event.text))


def _write(draft: Draft, entry: Entry) -> Write:
    event, (record, hashes) = draft.event, entry
    return Write(
        event.user_id, field_of(record), event.version, draft.arrival, encode(record, hashes)
    )


def _placed(record: Record, place: Placed) -> Record:
    if isinstance(record, Memory):
        return replace(record, sequence=place.sequence, born=place.born)
    return replace(record, sequence=place.sequence)


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
