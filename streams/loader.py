"""From stored pages to one user's state: decoded in bulk, a bad record left out alone."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import numpy as np

from seedmem.memory import Record, Subject
from seedmem.text import Terms, normal
from seedmem.user import UserState
from seedmem.user.block import NO_METADATA, Block, Words
from seedmem.vectors import Matrix, Vector, VectorSpace, unit_rows
from streams.errors import DamagedRecordError
from streams.records import (
    NO_VECTOR,
    StoredMemory,
    StoredSubject,
    decode_memory,
    decode_subject,
    memory_of,
    rows_of,
    subject_of,
    term_bytes,
)
from streams.store import MEMORY, NAME, SEQUENCE, SUBJECT, Page, Placed, id_of, parse

logger = logging.getLogger(__name__)

_CHUNK = 2_000  # records brought in at once: numpy then holds the interpreter for milliseconds
_UNIT_TOLERANCE = 1e-2  # of a squared norm; float16 moves it by 1e-3

Entry = tuple[Record, Terms | None]
"""A record, and a memory's keyword terms if they are known."""


class _Item(NamedTuple):
    kind: bytes
    id: str
    sequence: int
    born: int
    body: StoredMemory | StoredSubject | None
    vector: bytes


@dataclass(slots=True)
class Loader:
    """Collects one user's records from the pages of ``RecordStore.read``. Not thread-safe."""

    space: VectorSpace
    sequence: int = 0
    """Number of the user's last write when its counter was read."""
    damaged: int = 0
    """Records that were left out because they cannot be read."""
    _blocks: list[Block] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)  # ids of the memories in blocks
    _entries: list[Entry] = field(default_factory=list)
    _nameless: list[Subject] = field(default_factory=list)
    _names: dict[str, Vector] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Records so far, subjects included."""
        return len(self._seen) + len(self._entries)

    def add(self, page: Page) -> None:
        """Bring one page in: CPU work of a few milliseconds."""
        self.sequence = max(self.sequence, int(page.get(SEQUENCE, 0)))
        items = list(self._items(page))
        with_vector = [item for item in items if item.vector]
        matrix = rows_of([item.vector for item in with_vector], self.space.dim)
        squares = np.einsum("nd,nd->n", matrix, matrix)
        sound = np.abs(squares - 1.0) < _UNIT_TOLERANCE  # false for NaN
        vectors, fresh = unit_rows(matrix), list[int]()
        for at, (item, is_sound) in enumerate(zip(with_vector, sound.tolist(), strict=True)):
            if not is_sound:
                self._leave_out(item.kind, "its vector is not of unit length")
            elif item.kind == MEMORY and item.id not in self._seen:
                self._seen.add(item.id)
                fresh.append(at)
            else:
                self._keep(item, vectors[at])
        self._blocks.append(_block([with_vector[at] for at in fresh], vectors[fresh]))
        for item in items:
            if not item.vector:
                self._keep(item, NO_VECTOR)

    def fill(self, state: UserState) -> None:
        """Bring the records of all pages into ``state``, which is empty.

        Subjects without a vector get their name's.
        """
        for subject in self._nameless:
            vector = self._names.get(normal(subject.name))
            if vector is None:
                self._leave_out(SUBJECT, "neither it nor its name has a vector")
            else:
                self._entries.append((replace(subject, vector=vector), None))
        self._nameless.clear()
        state.fill(self._blocks)
        for start in range(0, len(self._entries), _CHUNK):
            state.load(self._entries[start : start + _CHUNK])

    def _items(self, page: Page) -> Iterator[_Item]:
        for name, value in page.items():
            if name == SEQUENCE:
                continue
            try:
                item = self._item(name, value)
            except (DamagedRecordError, UnicodeDecodeError) as error:
                self._leave_out(name[:1], str(error))
                continue
            if item is not None:
                yield item

    def _item(self, name: bytes, value: bytes) -> _Item | None:
        """Return what a field holds, None for a tombstone."""
        _, _, sequence, born, payload = parse(value)
        if not payload:
            return None
        kind = name[:1]
        body: StoredMemory | StoredSubject | None = None
        if kind == MEMORY:
            body = decode_memory(payload)
        elif kind == SUBJECT:
            body = decode_subject(payload)
        vector = payload if body is None else body.vector
        if len(vector) != 2 * self.space.dim and not (kind == SUBJECT and not vector):
            raise DamagedRecordError(f"vector has {len(vector)} bytes, want {2 * self.space.dim}")
        return _Item(kind, id_of(name), sequence, born, body, vector)

    def _keep(self, item: _Item, vector: Vector) -> None:
        body, placed = item.body, Placed(item.sequence, item.born)
        if isinstance(body, StoredMemory):  # once more: a page may hold what another page had
            self._entries.append((memory_of(item.id, body, vector, placed), None))
        elif isinstance(body, StoredSubject):
            subject = subject_of(item.id, body, vector, placed)
            if len(vector):
                self._entries.append((subject, None))
            else:
                self._nameless.append(subject)
        elif item.kind == NAME:
            self._names[item.id] = vector

    def _leave_out(self, kind: bytes, reason: str) -> None:
        self.damaged += 1
        logger.error("a stored record of kind %s is left out: %s", kind.decode("latin-1"), reason)


def _block(items: Sequence[_Item], vectors: Matrix) -> Block:
    """Return memories with their vectors, (n, d)."""
    bodies = [cast(StoredMemory, item.body) for item in items]
    stored = [term_bytes(body) for body in bodies]
    return Block(
        words=[
            Words(item.id, body.text, body.session_id, body.role, body.metadata or NO_METADATA)
            for item, body in zip(items, bodies, strict=True)
        ],
        vectors=vectors,
        sequence=[item.sequence for item in items],
        born=[item.born for item in items],
        created_at=[body.created_at for body in bodies],
        terms=np.frombuffer(b"".join(stored), dtype="<u4"),
        lengths=[len(terms) // 4 for terms in stored],
    )
