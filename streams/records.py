"""The stored form of a record: payload bytes ↔ ``Memory``, ``Subject``, pair.

Payloads are MessagePack arrays; vectors are float16. A subject whose event had
no vector is stored without one: the vector of its ``normal`` name is stored
once per user, in a field of its own. Versions and places are in the header,
which ``streams.store`` knows.
"""

from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from seedmem.memory import Deleted, Kind, Memory, Record, Relation, Subject
from seedmem.text import TERMS_VERSION, Terms, hash_terms, normal, terms
from seedmem.vectors import Matrix, Vector, pack, unit_rows
from streams.errors import DamagedRecordError
from streams.store import MEMORY, NAME, SUBJECT, TOMBSTONE, Placed, field

NO_VECTOR: Vector = np.zeros(0, dtype=np.float32)
"""The vector of a draft subject that takes its name's."""


class StoredMemory(msgspec.Struct, array_like=True, frozen=True):
    """Payload of a memory."""

    text: str
    vector: bytes
    """(d,) float16, little-endian."""
    terms: bytes
    """(n,) uint32, little-endian: hashed keyword terms, in text order."""
    terms_version: int
    created_at: float | None
    session_id: str | None
    role: str | None
    metadata: dict[str, str]


class StoredRelation(msgspec.Struct, array_like=True, frozen=True):
    """One relation within the payload of a subject."""

    subject: str
    predicate: str
    object: str
    memory_id: str
    pseudo_queries: tuple[str, ...]


class StoredSubject(msgspec.Struct, array_like=True, frozen=True):
    """Payload of a subject."""

    name: str
    type: str | None
    vector: bytes
    """(d,) float16; empty: the vector of the name's own field."""
    memory_ids: tuple[str, ...]
    relations: tuple[StoredRelation, ...]


class Pair(msgspec.Struct, array_like=True, frozen=True):
    """Supervision: a question, and a memory that answered it or did not."""

    query: str
    memory_id: str
    outcome: Literal["used", "rejected"] = "used"
    recalled_at: float | None = None
    """Seconds since the epoch."""


_encoder = msgspec.msgpack.Encoder()
_memories = msgspec.msgpack.Decoder(StoredMemory)
_subjects = msgspec.msgpack.Decoder(StoredSubject)
_pairs = msgspec.msgpack.Decoder(Pair)

T = TypeVar("T")


def field_of(record: Record) -> bytes:
    """Return the store's field of ``record``."""
    if isinstance(record, Memory):
        return field(MEMORY, record.memory_id)
    if isinstance(record, Subject):
        return field(SUBJECT, record.subject_id)
    return field(MEMORY if record.kind is Kind.MEMORY else SUBJECT, record.id)


def name_field(name: str) -> bytes:
    """Return the store's field of the vector of a subject name."""
    return field(NAME, normal(name))


def encode(record: Record, term_hashes: Terms | None = None) -> bytes:
    """Return the payload of ``record``; its ``sequence`` and ``born`` are not in it.

    Args:
        record: a draft or a placed record; a subject may have ``NO_VECTOR``.
        term_hashes: a memory's hashed terms, so that loading needs no tokenizer.
    """
    if isinstance(record, Deleted):
        return TOMBSTONE
    if isinstance(record, Subject):
        return _encoder.encode(_stored_subject(record))
    hashes = np.zeros(0, np.uint32) if term_hashes is None else term_hashes
    stored = StoredMemory(
        record.text,
        pack(record.vector),
        stored_terms(hashes),
        0 if term_hashes is None else TERMS_VERSION,
        record.created_at,
        record.session_id,
        record.role,
        dict(record.metadata),
    )
    return encode_memory(stored)


def encode_memory(stored: StoredMemory) -> bytes:
    """Return the payload of a memory."""
    return _encoder.encode(stored)


def decode_memory(payload: bytes) -> StoredMemory:
    """Return a memory's payload. Raises ``DamagedRecordError``."""
    return _decoded(_memories, payload)


def decode_subject(payload: bytes) -> StoredSubject:
    """Return a subject's payload. Raises ``DamagedRecordError``."""
    return _decoded(_subjects, payload)


def encode_pair(pair: Pair) -> bytes:
    """Return the payload of ``pair``."""
    return _encoder.encode(pair)


def decode_pair(payload: bytes) -> Pair:
    """Return a pair. Raises ``DamagedRecordError``."""
    return _decoded(_pairs, payload)


def memory_of(id: str, stored: StoredMemory, vector: Vector, placed: Placed) -> Memory:
    """Return the memory that a payload and its place make."""
    return Memory(
        memory_id=id,
        text=stored.text,
        vector=vector,
        sequence=placed.sequence,
        born=placed.born,
        created_at=stored.created_at,
        session_id=stored.session_id,
        role=stored.role,
        metadata=stored.metadata,
    )


def subject_of(id: str, stored: StoredSubject, vector: Vector, placed: Placed) -> Subject:
    """Return the subject that a payload and its place make."""
    return Subject(
        subject_id=id,
        name=stored.name,
        vector=vector,
        sequence=placed.sequence,
        type=stored.type,
        memory_ids=stored.memory_ids,
        relations=tuple(
            Relation(
                subject=relation.subject,
                predicate=relation.predicate,
                object=relation.object,
                memory_id=relation.memory_id,
                pseudo_queries=relation.pseudo_queries,
            )
            for relation in stored.relations
        ),
    )


def stored_terms(hashes: Terms) -> bytes:
    """Return the stored form of hashed terms: little-endian uint32."""
    return hashes.astype("<u4").tobytes()


def term_bytes(stored: StoredMemory) -> bytes:
    """Return a memory's hashed terms as they are stored, made again if they are of another time."""
    if stored.terms_version == TERMS_VERSION:
        return stored.terms
    return stored_terms(hash_terms(terms(stored.text)))


def stored_rows(vectors: Sequence[Vector], dim: int) -> tuple[list[bytes], Matrix]:
    """Return the stored form of each unit vector, and as (n, d) what loading makes of them."""
    packed = np.array(vectors, dtype="<f2").reshape(-1, dim)
    return [row.tobytes() for row in packed], unit_rows(packed.astype(np.float64))


def rows_of(vectors: Sequence[bytes], dim: int) -> NDArray[np.float64]:
    """Return stored vectors as (n, d) rows, as long as they were stored: nearly unit."""
    return np.frombuffer(b"".join(vectors), dtype="<f2").reshape(-1, dim).astype(np.float64)


def _stored_subject(subject: Subject) -> StoredSubject:
    relations = tuple(
        StoredRelation(r.subject, r.predicate, r.object, r.memory_id, r.pseudo_queries)
        for r in subject.relations
    )
    vector = pack(subject.vector)
    return StoredSubject(subject.name, subject.type, vector, subject.memory_ids, relations)


def _decoded(decoder: msgspec.msgpack.Decoder[T], payload: bytes) -> T:
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedRecordError(f"stored payload of {len(payload)} bytes: {error}") from error
