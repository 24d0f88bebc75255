"""subject-extracted → record and links: what the memories are about."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import faust

from seedmem.memory import Deleted, Kind, Relation, Subject
from seedmem.text import normal
from seedmem.vectors import Vector, VectorSpace, pack, unpack
from streams.agents.vectors import check_text, given_vector
from streams.delivery import Delivery, Stream
from streams.embedding import Embedder
from streams.events import SubjectExtracted
from streams.faustapp import raw_topic
from streams.indexing import Change, index
from streams.intake import Received
from streams.records import NO_VECTOR, encode, field_of, name_field
from streams.refusal import RefusedError
from streams.settings import Settings
from streams.store import RecordStore, Write
from streams.topics import Topics
from streams.users import HotUsers

Name = tuple[str, str]  # a user, and the normal form of a subject's name


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked event, before it is placed."""

    event: SubjectExtracted
    arrival: int
    record: Subject | Deleted
    """A subject without a vector of its own has ``NO_VECTOR``: it takes its name's."""

    @property
    def name(self) -> Name:
        """What the vector of the name is kept under."""
        return self.event.user_id, normal(self.event.name)

    @property
    def takes_name(self) -> bool:
        """Whether the subject has no vector of its own."""
        return isinstance(self.record, Subject) and self.record.vector.size == 0


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

    def prepare(received: Received[SubjectExtracted]) -> Draft:
        return draft(received, embedder.space)

    async def link(drafts: Sequence[Draft]) -> list[RefusedError | None]:
        names = {d.name: d.arrival for d in drafts if d.takes_name}
        vectors, writes = await _name_vectors(names, embedder, store)
        kept = [Change(write, None) for write in writes]
        refused = await index([*kept, *(_change(d, vectors) for d in drafts)], store, users)
        return refused[len(kept) :]

    @app.agent(raw_topic(app, topics.subject_extracted), name="link_subjects", concurrency=1)
    async def link_subjects(stream: Stream) -> None:
        """Make each subject durable, then join it to its memories, then ack it."""
        await delivery.in_batches(
            stream,
            prepare,
            link,
            kind=SubjectExtracted,
            size=settings.batch_size,
            within=settings.batch_wait,
        )


def draft(received: Received[SubjectExtracted], space: VectorSpace) -> Draft:
    """Return the checked event. Raises ``RefusedError``."""
    event = received.event
    if event.deleted:
        tombstone = Deleted(kind=Kind.SUBJECT, id=event.subject_id, sequence=0)
        return Draft(event, received.offset, tombstone)
    check_text(event.name, field="$.name")
    vector = given_vector(event.vector, event.encoder, space)
    subject = Subject(
        subject_id=event.subject_id,
        name=event.name,
        vector=NO_VECTOR if vector is None else unpack(pack(vector), space.dim),
        sequence=0,
        type=event.type,
        memory_ids=tuple(dict.fromkeys(event.memory_ids)),
        relations=tuple(
            Relation(
                subject=found.subject,
                predicate=found.predicate,
                object=found.object,
                memory_id=found.memory_id,
                pseudo_queries=tuple(found.pseudo_queries),
            )
            for found in event.relations
        ),
    )
    return Draft(event, received.offset, subject)


async def _name_vectors(
    names: Mapping[Name, int], embedder: Embedder, store: RecordStore
) -> tuple[dict[Name, Vector], list[Write]]:
    """Return the vector of each name, and the writes that keep those which are new.

    Args:
        names: each with the arrival of its event, which an erasure's fence is compared with.
    """
    vectors: dict[Name, Vector] = {}
    of_user: dict[str, list[Name]] = defaultdict(list)
    for name in names:
        of_user[name[0]].append(name)
    for user_id, owned in of_user.items():
        stored = await store.get_many(user_id, [name_field(text) for _, text in owned])
        for name, kept in zip(owned, stored, strict=True):
            if kept is not None:
                vectors[name] = unpack(kept.payload, embedder.space.dim)
    missing = [name for name in names if name not in vectors]
    writes = []
    for name, vector in zip(missing, await embedder.encode([n for _, n in missing]), strict=True):
        vectors[name] = unpack(pack(vector), embedder.space.dim)
        writes.append(Write(name[0], name_field(name[1]), 0, names[name], pack(vector)))
    return vectors, writes


def _change(d: Draft, vectors: Mapping[Name, Vector]) -> Change:
    event, record = d.event, d.record
    write = Write(event.user_id, field_of(record), event.version, d.arrival, encode(record))
    if isinstance(record, Subject) and d.takes_name:
        record = replace(record, vector=vectors[d.name])
    return Change(write, lambda place: (replace(record, sequence=place.sequence), None))
