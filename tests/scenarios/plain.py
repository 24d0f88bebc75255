"""What must come of events, by dictionaries and brute force: the oracle of every scenario.

It knows the rules of the contract and none of the service's ways: no store, no
batches, no cache. Digests have the form of ``streams.digest``, so that they can be
compared; the state for the brute force is built from live records alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from seedmem.encode import load_encoder
from seedmem.memory import Memory, Record, Subject
from seedmem.retrieve import Answer, Query, retrieve
from seedmem.text import normal
from seedmem.user import UserState
from seedmem.vectors import Vector, from_wire, pack, unpack
from streams.digest import MemoryDigest
from streams.events import Event, MemoryCreated, MemoryRecalled, SubjectExtracted

Digest = dict[str, tuple[MemoryDigest, ...]]
"""By user; a user without memories is left out."""

_ENCODER = load_encoder("hash:64")


@dataclass
class _Kept:
    """The newest accepted event of one id."""

    version: int | None
    event: MemoryCreated | SubjectExtracted
    born: int


@dataclass
class _User:
    memories: dict[str, _Kept] = field(default_factory=dict)
    subjects: dict[str, _Kept] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)


class Plain:
    """All users' state after the events so far, applied once, in order."""

    def __init__(self) -> None:
        self._users: dict[str, _User] = defaultdict(_User)
        self.counts: Counter[str] = Counter()
        """Events by what became of them: ``accepted``, ``refused`` (stale), ``recalled``."""

    def apply(self, events: Iterable[Event]) -> None:
        """Add what comes next."""
        for event in events:
            user = self._users[event.user_id]
            if isinstance(event, MemoryCreated):
                self._keep(user.memories, event.memory_id, event)
            elif isinstance(event, SubjectExtracted):
                self._keep(user.subjects, event.subject_id, event)
            elif isinstance(event, MemoryRecalled):
                user.pairs.add((event.query or "", event.memory_id))
                self.counts["recalled"] += 1

    def _keep(
        self, kept: dict[str, _Kept], id: str, event: MemoryCreated | SubjectExtracted
    ) -> None:
        old = kept.get(id)
        known = None if old is None else old.version
        if known is not None and event.version is not None and event.version <= known:
            self.counts["refused"] += 1
            return
        self.counts["accepted"] += 1
        version = known if event.version is None else event.version
        goes_on = old is not None and (not old.event.deleted or event.deleted)
        born = old.born if old is not None and goes_on else self.counts["accepted"]
        kept[id] = _Kept(version, event, born)

    @property
    def users(self) -> list[str]:
        """Users of whom anything was told."""
        return sorted(self._users)

    def texts(self, user_id: str) -> dict[str, str]:
        """Return the text of each live memory, by id."""
        return {id: kept.event.text for id, kept in self._live(user_id).items()}

    def pairs(self) -> dict[str, int]:
        """Return the number of supervision pairs of each user that has one."""
        return {name: len(user.pairs) for name, user in self._users.items() if user.pairs}

    def digest(self) -> Digest:
        """Return what the service's digests must be."""
        found = {name: self._digest(name) for name in self.users}
        return {name: memories for name, memories in found.items() if memories}

    def vector(self, user_id: str, memory_id: str) -> Vector:
        """Return (d,) of a live memory, as it is stored."""
        return _vector(self._live(user_id)[memory_id].event)

    def answer(self, user_id: str, text: str, *, k: int) -> Answer:
        """Return the exact answer over a state that is built anew from the live records."""
        state = UserState(_ENCODER.space)
        state.load([(record, None) for record in self._records(user_id)])
        [vector] = _ENCODER.encode([text])
        return retrieve(state, Query(text=text, vector=vector, k=k))

    def _digest(self, user_id: str) -> tuple[MemoryDigest, ...]:
        subjects: dict[str, set[str]] = defaultdict(set)
        for kept in self._users[user_id].subjects.values():
            if isinstance(kept.event, SubjectExtracted) and not kept.event.deleted:
                for memory_id in kept.event.memory_ids:
                    subjects[memory_id].add(normal(kept.event.name))
        return tuple(
            MemoryDigest(
                memory_id=id,
                version=kept.version,
                vector=blake2b(pack(_vector(kept.event)), digest_size=16).hexdigest(),
                subjects=tuple(sorted(subjects[id])),
            )
            for id, kept in sorted(self._live(user_id).items())
        )

    def _live(self, user_id: str) -> dict[str, _Kept]:
        kept = self._users[user_id].memories
        return {id: memory for id, memory in kept.items() if not memory.event.deleted}

    def _records(self, user_id: str) -> list[Record]:
        memories = [
            Memory(
                memory_id=id,
                text=kept.event.text,
                vector=_vector(kept.event),
                sequence=number,
                born=kept.born,
                created_at=kept.event.created_at,
                session_id=kept.event.session_id,
                role=kept.event.role,
            )
            for number, (id, kept) in enumerate(self._live(user_id).items(), 1)
        ]
        subjects = [
            Subject(
                subject_id=id,
                name=kept.event.name,
                vector=_vector(kept.event),
                sequence=len(memories) + number,
                memory_ids=tuple(kept.event.memory_ids),
            )
            for number, (id, kept) in enumerate(self._users[user_id].subjects.items(), 1)
            if not kept.event.deleted
        ]
        return [*memories, *subjects]


def _vector(event: MemoryCreated | SubjectExtracted) -> Vector:
    """Return (d,), rounded to float16 as it is kept."""
    if event.vector is not None:
        vector = from_wire(event.vector, _ENCODER.space.dim)
    else:
        text = event.text if isinstance(event, MemoryCreated) else normal(event.name)
        vector = np.asarray(_ENCODER.encode([text])[0])
    return unpack(pack(vector), _ENCODER.space.dim)
