"""memory-created → record and index: make memories durable, then searchable."""

from collections.abc import Sequence
from dataclasses import dataclass

import faust
import msgspec

from seedmem.memory import Deleted, Kind
from seedmem.text import TERMS_VERSION, hash_terms, terms
from seedmem.vectors import Matrix, Vector, VectorSpace
from streams.agents.vectors import check_text, given_vector
from streams.delivery import Delivery, Stream
from streams.embedding import Embedder
from streams.events import MemoryCreated
from streams.faustapp import raw_topic
from streams.indexing import Change, index
from streams.intake import Received
from streams.records import StoredMemory, encode_memory, memory_of, stored_rows, stored_terms
from streams.refusal import RefusedError
from streams.settings import Settings
from streams.store import MEMORY, TOMBSTONE, RecordStore, Write, field
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

    async def apply(drafts: Sequence[Draft]) -> list[RefusedError | None]:
        bare = [d.event.text for d in drafts if d.vector is None and not d.event.deleted]
        encoded = await embedder.encode(bare)
        changes = await embedder.run(_changes, drafts, encoded, embedder.space)
        return await index(changes, store, users)

    @app.agent(raw_topic(app, topics.memory_created), name="index_memories", concurrency=1)
    async def index_memories(stream: Stream) -> None:
        """Make each memory durable, then searchable, then ack it, in offset order."""
        await delivery.in_batches(
            stream,
            prepare,
            apply,
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


def _changes(drafts: Sequence[Draft], encoded: Matrix, space: VectorSpace) -> list[Change]:
    """Return what each draft changes: CPU work, some milliseconds a batch.

    ``encoded`` has a row for each draft that is no tombstone and had no vector.
    """
    rows = iter(encoded)
    living = [d for d in drafts if not d.event.deleted]
    vectors = [next(rows) if d.vector is None else d.vector for d in living]
    # A hot user gets the vectors that a load would give: a restart changes no score.
    made = map(_made, living, *stored_rows(vectors, space.dim))
    return [_buried(d) if d.event.deleted else next(made) for d in drafts]


def _made(draft: Draft, packed: bytes, vector: Vector) -> Change:
    event, hashes = draft.event, hash_terms(terms(draft.event.text))
    stored = StoredMemory(
        text=event.text,
        vector=packed,
        terms=stored_terms(hashes),
        terms_version=TERMS_VERSION,
        created_at=draft.created_at,
        session_id=event.session_id,
        role=event.role,
        metadata={name: _text(value) for name, value in event.metadata.items()},
    )
    return Change(
        _write(draft, encode_memory(stored)),
        lambda place: (memory_of(event.memory_id, stored, vector, place), hashes),
    )


def _buried(draft: Draft) -> Change:
    memory_id = draft.event.memory_id
    return Change(
        _write(draft, TOMBSTONE),
        lambda place: (Deleted(kind=Kind.MEMORY, id=memory_id, sequence=place.sequence), None),
    )


def _write(draft: Draft, payload: bytes) -> Write:
    event = draft.event
    name = field(MEMORY, event.memory_id)
    return Write(event.user_id, name, event.version, draft.arrival, payload)


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
