"""From stored pages to one user's records: decoded in bulk, a bad record left out alone."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from seedmem.memory import Record, Subject
from seedmem.text import Terms, normal
from seedmem.vectors import Vector, VectorSpace, unit_rows
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
    terms_of,
)
from streams.store import MEMORY, NAME, SEQUENCE, SUBJECT, Page, Placed, id_of, parse

logger = logging.getLogger(__name__)

_UNIT_TOLERANCE = 1e-2  # of a squared norm; float16 moves it by 1e-3

Entry = tuple[Record, Terms | None]
"""A record, and a memory's keyword terms if they are known."""


class _Item(NamedTuple):
    kind: bytes
    id: str
    placed: Placed
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
    _entries: list[Entry] = field(default_factory=list)
    _nameless: list[Subject] = field(default_factory=list)
    _names: dict[str, Vector] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Records so far, subjects included."""
        return len(self._entries)

    def add(self, page: Page) -> None:
        """Bring one page in: CPU work of a few milliseconds."""
        self.sequence = max(self.sequence, int(page.get(SEQUENCE, 0)))
        items = list(self._items(page))
        with_vector = [item for item in items if item.vector]
        matrix = rows_of([item.vector for item in with_vector], self.space.dim)
        squares = np.einsum("nd,nd->n", matrix, matrix)
        sound = np.abs(squares - 1.0) < _UNIT_TOLERANCE  # false for NaN
        for item, vector, is_sound in zip(with_vector, unit_rows(matrix), sound, strict=True):
            if is_sound:
                self._keep(item, vector)
            else:
                self._leave_out(item.kind, "its vector is not of unit length")
        for item in items:
            if not item.vector:
                self._keep(item, NO_VECTOR)

    def entries(self) -> list[Entry]:
        """Return the records of all pages; subjects without a vector get their name's."""
        for subject in self._nameless:
            vector = self._names.get(normal(subject.name))
            if vector is None:
                self._leave_out(SUBJECT, "neither it nor its name has a vector")
            else:
                self._entries.append((replace(subject, vector=vector), None))
        self._nameless.clear()
        return self._entries

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
        kind, placed = name[:1], Placed(sequence, born)
        body: StoredMemory | StoredSubject | None = None
        if kind == MEMORY:
            body = decode_memory(payload)
        elif kind == SUBJECT:
            body = decode_subject(payload)
        vector = payload if body is None else body.vector
        if len(vector) != 2 * self.space.dim and not (kind == SUBJECT and not vector):
            raise DamagedRecordError(f"vector has {len(vector)} bytes, want {2 * self.space.dim}")
        return _Item(kind, id_of(name), placed, body, vector)

    def _keep(self, item: _Item, vector: Vector) -> None:
        body = item.body
        if isinstance(body, StoredMemory):
            memory = memory_of(item.id, body, vector, item.placed)
            self._entries.append((memory, terms_of(body)))
        elif isinstance(body, StoredSubject):
            subject = subject_of(item.id, body, vector, item.placed)
            if len(vector):
                self._entries.append((subject, None))
            else:
                self._nameless.append(subject)
        elif item.kind == NAME:
            self._names[item.id] = vector

    def _leave_out(self, kind: bytes, reason: str) -> None:
        self.damaged += 1
        logger.error("a stored record of kind %s is left out: %s", kind.decode("latin-1"), reason)
