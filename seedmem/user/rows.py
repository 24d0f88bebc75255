"""The memories of one user as columns over row numbers.

A memory gets the next row. A removed one leaves an empty row, its text and
vector wiped, until ``compact`` renumbers. Other files of this room index rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedmem.memory import Memory
from seedmem.vectors import Matrix, Vector

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
_OBJECT_BYTES = 420  # of a Memory without its text and vector: object, ids, dictionary entry
NO_VECTOR: Vector = np.zeros(0, dtype=np.float32)  # stands in a kept Memory: rows hold the vector


class Rows:
    """Columns of equal length, ``count`` rows of which ``size`` are live."""

    def __init__(self, dim: int) -> None:
        self.count = 0
        self.size = 0
        self._memories: list[Memory | None] = []
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
        """RAM bytes, capacity included; text counted as one to four bytes a character."""
        arrays = self._vectors.nbytes + sum(a.nbytes for a in self._columns.values())
        texts = sum(m.text.__sizeof__() for m in self._memories if m is not None)
        return arrays + texts + _OBJECT_BYTES * self.size

    def memory(self, row: int) -> Memory:
        """Return the memory of a live row.

        Raises:
            KeyError: no memory is there.
        """
        return replace(self._kept(row), vector=self._vectors[row].copy())

    def memory_id(self, row: int) -> str:
        """Return the memory id of a live row.

        Raises:
            KeyError: no memory is there.
        """
        return self._kept(row).memory_id

    def append(self, memories: Sequence[Memory], vectors: Matrix, **columns: object) -> int:
        """Add a block of memories, whose ``vectors`` are (n, d), and return its first row."""
        first, end = self.count, self.count + len(memories)
        if end > len(self._vectors):
            self._resize(max(end, int(end * _GROWTH) if first else end, 4))
        self._memories += [replace(memory, vector=NO_VECTOR) for memory in memories]
        self._vectors[first:end] = vectors
        self._columns["live"][first:end] = True
        for name, values in columns.items():
            self._columns[name][first:end] = values
        self.count, self.size = end, self.size + len(memories)
        return first

    def remove(self, row: int) -> None:
        """Wipe a live row."""
        self._memories[row] = None
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
        self._memories = [memory for memory in self._memories if memory is not None]
        self.count = self.size
        return renumbered

    def ids(self) -> list[str]:
        """Return the memory ids of the rows; call right after ``compact``, when all are live."""
        return [memory.memory_id for memory in self._memories if memory is not None]

    def _kept(self, row: int) -> Memory:
        memory = self._memories[row] if 0 <= row < self.count else None
        if memory is None:
            raise KeyError(f"row {row} holds no memory; rows change when a record is applied")
        return memory

    def _resize(self, capacity: int) -> None:
        grown = np.zeros((capacity, self._vectors.shape[1]), dtype=np.float32)
        grown[: self.count] = self.vectors
        self._vectors = grown
        for name, (kind, empty) in _EMPTY.items():
            column = np.full(capacity, empty, dtype=kind)
            column[: self.count] = self[name]
            self._columns[name] = column
