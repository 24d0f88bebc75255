"""The records of one user: what was remembered, and which subjects it is about.

A record is frozen. ``sequence`` numbers the user's accepted writes; of two
records with one id the higher sequence is the newer. Versions and tombstones
were settled before a record gets here (``streams/store.lua``): a ``Deleted``
says that the id is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seedmem.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that a user said or was told."""

    memory_id: str
    text: str
    vector: Vector
    """(d,), unit norm."""
    sequence: int
    """Number of the write that made this record."""
    born: int
    """Number of the write that first made this id; orders the user's memories. Updates keep it."""
    created_at: float | None = None
    """Seconds since the epoch, as the producer says."""
    session_id: str | None = None
    role: str | None = None
    """Who speaks, for example ``user`` or a name."""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One edge between two subjects, read off one memory."""

    subject: str
    predicate: str
    object: str
    memory_id: str
    pseudo_queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What memories are about. Of one user, subjects with equal ``normal`` names are one."""

    subject_id: str
    name: str
    vector: Vector
    """(d,), unit norm: the encoded name."""
    sequence: int
    type: str | None = None
    memory_ids: tuple[str, ...] = ()
    """Linked memories; ids that are unknown yet are joined when they come."""
    relations: tuple[Relation, ...] = ()


class Kind(StrEnum):
    """What a tombstone buries."""

    MEMORY = "memory"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A tombstone: the id is gone until a newer record brings it back."""

    kind: Kind
    id: str
    sequence: int


Record = Memory | Subject | Deleted


def key_of(record: Record) -> tuple[Kind, str]:
    """Return what a record is about: two records of one key are versions of one thing."""
    if isinstance(record, Memory):
        return Kind.MEMORY, record.memory_id
    if isinstance(record, Subject):
        return Kind.SUBJECT, record.subject_id
    return record.kind, record.id
