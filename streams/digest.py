"""The state digest: two services hold the same state exactly when their digests are equal.

Of each memory it has the id, the version, a hash of the vector and the names of the
subjects that link it: what must not differ after kills, replays and rebalances. Places
in the log and in the order of writes are left out, because they may.
"""

from collections import defaultdict
from collections.abc import AsyncIterator
from hashlib import blake2b

import msgspec

from seedmem.text import normal
from streams.records import decode_memory, decode_subject
from streams.store import MEMORY, SEQUENCE, SUBJECT, RecordStore, Stored, id_of, parse

_SIZE = 16  # bytes of a hash


class MemoryDigest(msgspec.Struct, frozen=True, kw_only=True):
    """What must be equal of one live memory."""

    memory_id: str
    version: int | None
    vector: str
    """Hash of its stored vector, hex."""
    subjects: tuple[str, ...]
    """Normal names of the live subjects that link it, sorted."""


class UserDigest(msgspec.Struct, frozen=True, kw_only=True):
    """One user's state in one generation (vector space)."""

    user_id: str
    generation: str
    digest: str
    """Hash over ``memories``, hex."""
    memories: tuple[MemoryDigest, ...]
    """Sorted by id."""


async def digests(store: RecordStore, user_id: str | None = None) -> AsyncIterator[UserDigest]:
    """Yield the digests of a user, or of every user, one for each generation.

    An unknown user has none. Raises as ``RecordStore.read``, and ``DamagedRecordError``
    when a record cannot be read.
    """
    users = [user_id] if user_id is not None else [name async for name in store.users()]
    for name in sorted(users):
        for generation in await store.generations(name):
            yield await _digest(store, name, generation)


async def _digest(store: RecordStore, user_id: str, generation: str) -> UserDigest:
    memories: dict[str, Stored] = {}
    subjects: dict[str, Stored] = {}
    async for page in store.read(user_id, generation):
        for field, value in page.items():
            kept = {MEMORY: memories, SUBJECT: subjects}.get(field[:1])
            if kept is not None and field != SEQUENCE:
                kept[id_of(field)] = parse(value)
    names = _names(subjects)
    listed = tuple(
        _memory(id, memories[id], names[id]) for id in sorted(memories) if memories[id].payload
    )
    whole = _hash(msgspec.json.encode(listed))
    return UserDigest(user_id=user_id, generation=generation, digest=whole, memories=listed)


def _names(subjects: dict[str, Stored]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = defaultdict(set)
    for stored in subjects.values():
        if stored.payload:
            subject = decode_subject(stored.payload)
            for memory_id in subject.memory_ids:
                names[memory_id].add(normal(subject.name))
    return names


def _memory(id: str, stored: Stored, names: set[str]) -> MemoryDigest:
    vector = _hash(decode_memory(stored.payload).vector)
    subjects = tuple(sorted(names))
    return MemoryDigest(memory_id=id, version=stored.version, vector=vector, subjects=subjects)


def _hash(raw: bytes) -> str:
    return blake2b(raw, digest_size=_SIZE).hexdigest()
