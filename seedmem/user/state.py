"""The hot state of one user: apply records, read indexes.

Not thread-safe: whoever owns a state holds a lock around every call, reads
included. Rows stay as they are until the next record is applied.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import VectorError
from seedmem.memory import Deleted, Kind, Memory, Record, Subject, key_of
from seedmem.text import Terms
from seedmem.user.block import Block, Words
from seedmem.user.dense import Dense
from seedmem.user.keyword import Keyword
from seedmem.user.order import SessionOrder
from seedmem.user.rows import Rows
from seedmem.user.subjects import Subjects
from seedmem.vectors import Matrix, Vector, VectorSpace, require_unit_rows

T = TypeVar("T")
Entry = tuple[Record, Terms | None]

_EMPTY_ROWS = 32  # and a quarter of the live ones, before rows are compacted


class UserState:
    """One user's memories and subjects, searchable by vector, keyword and subject."""

    def __init__(self, space: VectorSpace, *, exact_limit: int = 20_000, user_id: str = "") -> None:
        self.space = space
        self._table = Rows(space.dim)
        self._order = SessionOrder(self._table)
        self._row_of: dict[str, int] = {}
        self._buried: dict[tuple[Kind, str], int] = {}  # id → sequence of its tombstone
        self.dense = Dense(self._table, space, exact_limit=exact_limit, user_id=user_id)
        self.keyword = Keyword(self._table)
        self.subjects = Subjects(space.dim, self._row_of)
        self._derived: dict[Callable[[UserState], Any], Any] = {}

    @property
    def size(self) -> int:
        """Number of live memories."""
        return self._table.size

    @property
    def rows(self) -> int:
        """Number of rows, empty ones included: the length of every column."""
        return self._table.count

    @property
    def nbytes(self) -> int:
        """RAM bytes, Python objects estimated."""
        parts = (self._table, self._order, self.dense, self.keyword, self.subjects)
        return sum(part.nbytes for part in parts) + 200 * len(self._buried)

    @property
    def vectors(self) -> Matrix:
        """(rows, d): unit vectors, zero in empty rows."""
        return self._table.vectors

    @property
    def live(self) -> NDArray[np.bool_]:
        """(rows,): whether a memory is there."""
        return self._table["live"]

    @property
    def created_at(self) -> NDArray[np.float64]:
        """(rows,): seconds since the epoch, NaN where unknown."""
        return self._table["created_at"]

    @property
    def born(self) -> NDArray[np.int64]:
        """(rows,): number of the write that first made the memory."""
        return self._table["born"]

    @property
    def session(self) -> NDArray[np.int32]:
        """(rows,): index into ``sessions``, -1 in empty rows."""
        return self._table["session"]

    @property
    def sessions(self) -> list[str | None]:
        """Session ids by code. Memories without a session are one session, None."""
        return list(self._table.sessions)

    @property
    def speaker(self) -> NDArray[np.int32]:
        """(rows,): index into ``speakers``, -1 where nobody is named."""
        return self._table["speaker"]

    @property
    def speakers(self) -> list[str]:
        """Speakers' ``normal`` names by code: a memory's role, else its ``Name:`` prefix."""
        return list(self._table.speakers)

    @property
    def length(self) -> NDArray[np.int32]:
        """(rows,): number of keyword terms."""
        return self._table["length"]

    @property
    def is_question(self) -> NDArray[np.bool_]:
        """(rows,): whether the memory ends by asking."""
        return self._table["is_question"]

    @property
    def previous(self) -> NDArray[np.int32]:
        """(rows,): row of the memory before in the same session, -1 if none."""
        return self._order.previous

    @property
    def next(self) -> NDArray[np.int32]:
        """(rows,): row of the memory after in the same session, -1 if none."""
        return self._order.next

    def memory(self, row: int) -> Memory:
        """Return the memory of a live row. Raises ``KeyError`` where none is."""
        return self._table.memory(row)

    def words(self, row: int) -> Words:
        """Return the id, text and labels of a live row; cheaper than its memory."""
        return self._table.words(row)

    def row_of(self, memory_id: str) -> int | None:
        """Return the row of a live memory."""
        return self._row_of.get(memory_id)

    def best_subject_scores(self, query: Vector, n: int) -> NDArray[np.float32]:
        """Return (rows,): max cos(query, s) over a row's subjects s in the top ``n``; 0 if none."""
        return self.subjects.best_subject_scores(query, n, rows=self.rows)

    def derived(self, make: Callable[["UserState"], T]) -> T:
        """Return ``make(self)``, kept until a record changes what is here."""
        if make not in self._derived:
            self._derived[make] = make(self)
        found: T = self._derived[make]
        return found

    def apply(self, record: Record, term_hashes: Terms | None = None) -> None:
        """Bring one record in. A record that is not newer than what is here changes nothing.

        ``term_hashes`` are a memory's keyword terms if known; else its text is read again.

        Raises:
            VectorError: the vector is not (d,) or not of unit length. Nothing is changed.
        """
        self.load([(record, term_hashes)])

    def load(self, entries: Iterable[Entry], graph: bytes | None = None) -> None:
        """Bring many records in, in any order; as ``apply``, but faster for many.

        Args:
            entries: records, each with a memory's keyword terms if known.
            graph: what ``dense.snapshot`` gave; taken up when all records are in.

        Raises:
            VectorError: a vector is not (d,) or not of unit length. Nothing is changed.
            SnapshotError: ``graph`` does not fit. The records are in, and exact search serves.
        """
        newest: dict[tuple[Kind, str], Entry] = {}
        for entry in entries:
            key = key_of(entry[0])
            known = newest[key][0].sequence if key in newest else self._sequence_of(key)
            if entry[0].sequence > known:
                newest[key] = entry
        memories = [(r, known) for r, known in newest.values() if isinstance(r, Memory)]
        subjects = [r for r, _ in newest.values() if isinstance(r, Subject)]
        vectors = self._stacked([record.vector for record, _ in memories])
        self._stacked([subject.vector for subject in subjects])
        self._derived.clear()
        for key, (record, _) in newest.items():
            self._forget(key, record)
        if memories:
            records, hashes = zip(*memories, strict=True)
            self._add(Block.of(records, vectors, hashes))
        for subject in subjects:
            self.subjects.put(subject)
        self._compact_if_worth()
        if graph is not None:
            self.dense.restore(graph)

    def fill(self, blocks: Sequence[Block]) -> None:
        """Bring in memories whose ids were never here: as ``load``, but much faster.

        Raises ``ValueError`` for an id that is here or comes twice, ``VectorError`` as ``load``;
        nothing of that block is changed.
        """
        self._derived.clear()
        self._table.reserve(sum(map(len, blocks)))
        for block in blocks:
            fresh = set(block.memory_ids)
            if len(fresh) < len(block) or not fresh.isdisjoint(self._row_of):
                raise ValueError(f"a block of {len(block)} memories holds an id that is here")
            require_unit_rows(block.vectors, self.space.dim)
            self._add(block)

    def _sequence_of(self, key: tuple[Kind, str]) -> int:
        """Return the sequence of the newest record of an id, -1 for an id never seen."""
        kind, id_ = key
        known = self._buried.get(key)
        if known is None and kind is Kind.SUBJECT:
            known = self.subjects.sequence_of(id_)
        elif known is None and id_ in self._row_of:
            known = int(self._table["sequence"][self._row_of[id_]])
        return -1 if known is None else known

    def _stacked(self, vectors: Sequence[Vector]) -> Matrix:
        for vector in vectors:
            if vector.shape != (self.space.dim,):
                raise VectorError(f"vector is {vector.shape}, want ({self.space.dim},)")
        stacked = np.stack(vectors) if vectors else np.zeros((0, self.space.dim), dtype=np.float32)
        require_unit_rows(stacked, self.space.dim)
        return stacked

    def _forget(self, key: tuple[Kind, str], record: Record) -> None:
        """Take out what a newer record of the same id replaces; note a tombstone."""
        kind, id_ = key
        if kind is Kind.MEMORY and (row := self._row_of.pop(id_, None)) is not None:
            self._order.remove(row)
            self.dense.removing(row)
            self._table.remove(row)
            self.subjects.touch([id_])
        elif kind is Kind.SUBJECT and isinstance(record, Deleted):
            self.subjects.remove(id_)
        if isinstance(record, Deleted):
            self._buried[key] = record.sequence
        else:
            self._buried.pop(key, None)

    def _add(self, block: Block) -> None:
        memory_ids, first = block.memory_ids, self._table.append(block)
        self.keyword.add(first, block.terms, block.lengths)
        self._row_of.update(zip(memory_ids, range(first, self.rows), strict=True))
        self._order.append(first)
        self.dense.added(first)
        self.subjects.touch(memory_ids)

    def _compact_if_worth(self) -> None:
        empty = self._table.count - self._table.size
        if empty <= max(_EMPTY_ROWS, self._table.size // 4):
            return
        renumbered = self._table.compact()
        self.keyword.renumber(renumbered)
        self._order.disturb()
        self._row_of.update((id_, row) for row, id_ in enumerate(self._table.ids()))
        self.subjects.touch_all()
