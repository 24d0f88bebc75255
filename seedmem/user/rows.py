"""The memories of one user as columns over row numbers.

A memory gets the next row. A removed one leaves an empty row, its text and
vector wiped, until ``compact`` renumbers. Other files of this room index rows.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from seedmem.memory import Memory
from seedmem.text import is_question, normal, split_speaker
from seedmem.user.block import Block, Words
from seedmem.vectors import Matrix

_Name = TypeVar("_Name")

_EMPTY: Mapping[str, tuple[type, object]] = {
    "live": (np.bool_, False),
    "created_at": (np.float64, np.nan),
    "born": (np.int64, 0),
    "sequence": (np.int64, -1),
    "session": (np.int32, -1),
    "speaker": (np.int32, -1),
    "length": (np.int32, 0),
    "is_question": (np.bool_, False),
}  # column → its type and what an empty row holds
_GROWTH = 1.5
_OBJECT_BYTES = 650  # of a memory without its text: objects, ids, dictionary entries; measured

_LABEL_BYTES = 200  # of one entry of metadata without its characters


class Rows:
    """Columns of equal length, ``count`` rows of which ``size`` are live."""

    def __init__(self, dim: int) -> None:
        self.count = 0
        self.size = 0
        self.sessions: dict[str | None, int] = {}  # id → code
        self.speakers: dict[str, int] = {}  # normal name → code
        self._words_nbytes = 0
        self._words: list[Words | None] = []
        self._by_sequence: NDArray[np.int64] | None = None  # rows in order; None: sort again
        self._vectors: Matrix = np.zeros((0, dim), dtype=np.float32)
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(0, dtype=kind) for name, (kind, _) in _EMPTY.items()
        }

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a view of a column, (count,)."""
        return self._columns[column][: self.count]

    @property
    def vectors(self) -> Matrix:
        """(count, d): unit rows, zero where no memory is."""
        return self._vectors[: self.count]

    @property
    def nbytes(self) -> int:
        """RAM bytes, capacity included."""
        arrays = self._vectors.nbytes + sum(a.nbytes for a in self._columns.values())
        return arrays + self._words_nbytes

    def memory(self, row: int) -> Memory:
        """Return the memory of a live row.

        Raises:
            KeyError: no memory is there.
        """
        words, created_at = self.words(row), float(self["created_at"][row])
        return Memory(
            **words._asdict(),
            vector=self._vectors[row].copy(),
            sequence=int(self["sequence"][row]),
            born=int(self["born"][row]),
            created_at=None if np.isnan(created_at) else created_at,
        )

    def words(self, row: int) -> Words:
        """Return what no column holds of a live row.

        Raises:
            KeyError: no memory is there.
        """
        words = self._words[row] if 0 <= row < self.count else None
        if words is None:
            raise KeyError(f"row {row} holds no memory; rows change when a record is applied")
        return words

    def rows_of(self, sequences: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the live row of each write's number, -1 where its memory is gone."""
        if self.count == 0:
            return np.full(len(sequences), -1, dtype=np.int64)
        if self._by_sequence is None:
            self._by_sequence = np.argsort(self["sequence"], kind="stable")
        known, order = self["sequence"], self._by_sequence
        at = np.searchsorted(known, sequences, sorter=order)
        rows = order[np.minimum(at, self.count - 1)]
        return np.where((known[rows] == sequences) & self["live"][rows], rows, -1)

    def reserve(self, more: int) -> None:
        """Have room for so many more rows, and no more than that."""
        if self.count + more > len(self._vectors):
            self._resize(self.count + more)

    def append(self, block: Block) -> int:
        """Add a block of memories and return its first row."""
        first, end = self.count, self.count + len(block)
        self._by_sequence = None
        if end > len(self._vectors):
            self._resize(max(end, int(end * _GROWTH) if first else end, 4))
        self._words += block.words
        self._words_nbytes += _nbytes(block.words)
        self._vectors[first:end] = block.vectors
        for name, values in self._columns_of(block).items():
            self._columns[name][first:end] = values
        self.count, self.size = end, self.size + len(block)
        return first

    def remove(self, row: int) -> None:
        """Wipe a live row."""
        self._by_sequence = None
        self._words_nbytes -= _nbytes([self.words(row)])
        self._words[row] = None
        self._vectors[row] = 0.0
        for name, (_, empty) in _EMPTY.items():
            self._columns[name][row] = empty
        self.size -= 1

    def compact(self) -> NDArray[np.int64]:
        """Drop empty rows; return (old count,) the new row of each old one, -1 where dropped."""
        live = self["live"]
        renumbered = np.where(live, np.cumsum(live) - 1, -1)
        self._vectors = self.vectors[live]
        self._columns = {name: self[name][live] for name in _EMPTY}
        self._words = [words for words in self._words if words is not None]
        self.count, self._by_sequence = self.size, None
        self.sessions = self._recoded("session", self.sessions)
        self.speakers = self._recoded("speaker", self.speakers)
        return renumbered

    def ids(self) -> list[str]:
        """Return the memory ids of the rows; call right after ``compact``, when all are live."""
        return [words.memory_id for words in self._words if words is not None]

    def _columns_of(self, block: Block) -> dict[str, Any]:
        sessions = self.sessions
        return {
            "live": True,
            "created_at": np.array(block.created_at, dtype=np.float64),  # None becomes NaN
            "born": block.born,
            "sequence": block.sequence,
            "session": [sessions.setdefault(w.session_id, len(sessions)) for w in block.words],
            "speaker": self._speaker_codes(block.words),
            "length": block.lengths,
            "is_question": [is_question(words.text) for words in block.words],
        }

    def _speaker_codes(self, every: Iterable[Words]) -> list[int]:
        names = [words.role or split_speaker(words.text)[0] for words in every]
        codes = {
            name: self.speakers.setdefault(normal(name), len(self.speakers))
            for name in dict.fromkeys(names)
            if name
        }
        return [codes.get(name, -1) if name else -1 for name in names]

    def _recoded(self, column: str, codes: dict[_Name, int]) -> dict[_Name, int]:
        """Return new codes for those names alone that the column still uses."""
        names, old = list(codes), self[column]
        used = np.unique(old[old >= 0])
        self._columns[column] = np.where(old < 0, old, np.searchsorted(used, old)).astype(np.int32)
        return {names[code]: new for new, code in enumerate(used.tolist())}

    def _resize(self, capacity: int) -> None:
        grown = np.zeros((capacity, self._vectors.shape[1]), dtype=np.float32)
        grown[: self.count] = self.vectors
        self._vectors = grown
        for name, (kind, empty) in _EMPTY.items():
            column: NDArray[Any] = np.full(capacity, empty, dtype=kind)
            column[: self.count] = self[name]
            self._columns[name] = column


def _nbytes(every: Collection[Words]) -> int:
    texts = sum([words.text.__sizeof__() for words in every])
    labels = [item for words in every if words.metadata for item in words.metadata.items()]
    return (
        _OBJECT_BYTES * len(every) + texts + sum(_LABEL_BYTES + len(k) + len(v) for k, v in labels)
    )
