"""What a user's memories are about: named nodes with a vector and linked memories.

Subjects with equal ``normal`` names are one node: it links what any of them
links, and shows the name, type and vector of the newest. Links hold memory
ids, so a subject may come before its memories, and outlive them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from seedmem.memory import Relation, Subject
from seedmem.text import normal
from seedmem.vectors import Matrix, Vector

Indices = NDArray[np.int32]

_NO_ROWS: Indices = np.zeros(0, dtype=np.int32)
_NO_VECTOR: Vector = np.zeros(0, dtype=np.float32)  # of a shown subject: the matrix holds it
_LINK_BYTES = 150  # of one link: entries in the node's and the memory's dictionaries
_RELATION_BYTES = 500  # of one relation with its questions
_SUBJECT_BYTES = 900  # of one subject: record, strings, node


@dataclass(slots=True, eq=False)
class _Node:
    index: int
    subjects: dict[str, Subject] = field(default_factory=dict)
    memory_ids: dict[str, None] = field(default_factory=dict)  # ordered set
    rows: Indices | None = None  # linked live rows; None when they must be looked up again

    @property
    def newest(self) -> Subject:
        return max(self.subjects.values(), key=lambda subject: subject.sequence)


class Subjects:
    """The subject nodes of one user. Indices change when a record is applied."""

    def __init__(self, dim: int, row_of: dict[str, int]) -> None:
        self.names: list[str] = []
        """(S,): name of each node, as its newest subject writes it."""
        self.types: list[str | None] = []
        """(S,): type of each node, as its newest subject says."""
        self._row_of = row_of  # the state's own map: memory id → row
        self._matrix: Matrix = np.zeros((0, dim), dtype=np.float32)
        self._nodes: list[_Node] = []
        self._by_name: dict[str, _Node] = {}
        self._by_subject: dict[str, _Node] = {}
        self._by_memory: dict[str, list[_Node]] = {}
        self._links: tuple[Indices, Indices] | None = None  # None: put together again
        self._rowwise: tuple[Indices, Indices, Indices] | None = None  # the same
        self._linked = self._relations = 0  # how many

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def matrix(self) -> Matrix:
        """(S, d), unit rows."""
        return self._matrix[: len(self._nodes)]

    @property
    def relations(self) -> list[Relation]:
        """Relations of all subjects."""
        return [r for n in self._nodes for s in n.subjects.values() for r in s.relations]

    @property
    def pending(self) -> int:
        """Number of linked memory ids that are not here: not yet, or no more."""
        return sum(memory_id not in self._row_of for memory_id in self._by_memory)

    @property
    def nbytes(self) -> int:
        """RAM bytes."""
        subjects = len(self._by_subject) * _SUBJECT_BYTES + self._relations * _RELATION_BYTES
        return self._matrix.nbytes + self._linked * _LINK_BYTES + subjects

    def sequence_of(self, subject_id: str) -> int | None:
        """Return the sequence of a known subject."""
        node = self._by_subject.get(subject_id)
        return None if node is None else node.subjects[subject_id].sequence

    def find(self, name: str) -> int | None:
        """Return the index of the node with this name."""
        node = self._by_name.get(normal(name))
        return None if node is None else node.index

    def rows_of(self, index: int) -> Indices:
        """Return the live rows that a node links."""
        return self._rows(self._nodes[index])

    def of_memory(self, memory_id: str) -> Indices:
        """Return the indices of the nodes that link a memory."""
        return np.array([n.index for n in self._by_memory.get(memory_id, ())], dtype=np.int32)

    def links(self) -> tuple[Indices, Indices]:
        """Return all links between nodes and live rows: (L,) node indices, (L,) rows."""
        if self._links is None:
            self._rowwise = None
            rows = [self._rows(node) for node in self._nodes]
            nodes = np.repeat(np.arange(len(rows), dtype=np.int32), [len(r) for r in rows])
            self._links = nodes, np.concatenate([_NO_ROWS, *rows])
        return self._links

    def search(self, query: Vector, n: int) -> tuple[Indices, NDArray[np.float32]]:
        """Return the ``n`` nearest nodes and their cosines, best first."""
        cosines = self.matrix @ query
        n = min(n, len(cosines))
        best = np.argpartition(-cosines, n - 1)[:n] if 0 < n < len(cosines) else np.arange(n)
        best = best[np.argsort(-cosines[best], kind="stable")]
        return best.astype(np.int32), cosines[best]

    def best_subject_scores(self, query: Vector, n: int, *, rows: int) -> NDArray[np.float32]:
        """Return (rows,): best cosine of a memory's own nodes in the top ``n``; 0 if none."""
        scores = np.zeros(rows, dtype=np.float32)
        indices, cosines = self.search(query, n)
        nodes, linked, starts = self._by_row()
        if len(linked):
            near = np.full(len(self._nodes), -np.inf, dtype=np.float32)
            near[indices] = cosines
            best = np.maximum.reduceat(near[nodes], starts)
            scores[linked] = np.where(best > -np.inf, best, 0.0)
        return scores

    def _by_row(self) -> tuple[Indices, Indices, Indices]:
        """Return the nodes of all links row by row, the rows that have any, and their starts."""
        nodes, rows = self.links()
        if self._rowwise is None:
            order = np.argsort(rows, kind="stable")
            linked, starts = np.unique(rows[order], return_index=True)
            self._rowwise = nodes[order], linked, starts.astype(np.int32)
        return self._rowwise

    def put(self, subject: Subject) -> None:
        """Add a subject, or replace the one with its id."""
        self.remove(subject.subject_id)
        name = normal(subject.name)
        node = self._by_name.get(name)
        if node is None:
            node = self._by_name[name] = _Node(len(self._nodes))
            self._nodes.append(node)
            self.names.append(subject.name)
            self.types.append(subject.type)
            if len(self._nodes) > len(self._matrix):
                self._grow()
        else:
            shown = node.newest
            vector = self._matrix[node.index].copy()
            node.subjects[shown.subject_id] = replace(shown, vector=vector)
        node.subjects[subject.subject_id] = subject
        self._by_subject[subject.subject_id] = node
        self._relations += len(subject.relations)
        self._show(node)
        self._relink(node)

    def remove(self, subject_id: str) -> None:
        """Drop a subject; an unknown id changes nothing."""
        node = self._by_subject.pop(subject_id, None)
        if node is None:
            return
        gone = node.subjects.pop(subject_id)
        self._relations -= len(gone.relations)
        self._relink(node)
        if node.subjects:
            self._show(node)
        else:
            self._drop(node, normal(gone.name))

    def touch(self, memory_ids: Iterable[str]) -> None:
        """Look up the rows of these memories again: they came, moved or went."""
        if not self._by_memory:
            return
        for memory_id in memory_ids:
            for node in self._by_memory.get(memory_id, ()):
                node.rows = self._links = None

    def touch_all(self) -> None:
        """Look up all rows again: they were renumbered."""
        self._links = None
        for node in self._nodes:
            node.rows = None

    def _rows(self, node: _Node) -> Indices:
        if node.rows is None:
            rows = [self._row_of.get(memory_id, -1) for memory_id in node.memory_ids]
            node.rows = np.array([row for row in rows if row >= 0], dtype=np.int32)
        return node.rows

    def _show(self, node: _Node) -> None:
        """Have the matrix hold the newest subject's vector; the others keep theirs."""
        newest = node.newest
        if newest.vector is not _NO_VECTOR:
            self._matrix[node.index] = newest.vector
            self.names[node.index], self.types[node.index] = newest.name, newest.type
            node.subjects[newest.subject_id] = replace(newest, vector=_NO_VECTOR)

    def _relink(self, node: _Node) -> None:
        linked = dict.fromkeys(m for s in node.subjects.values() for m in s.memory_ids)
        for memory_id in node.memory_ids.keys() - linked.keys():
            self._by_memory[memory_id].remove(node)
            if not self._by_memory[memory_id]:
                del self._by_memory[memory_id]
        for memory_id in linked.keys() - node.memory_ids.keys():
            self._by_memory.setdefault(memory_id, []).append(node)
        self._linked += len(linked) - len(node.memory_ids)
        node.memory_ids, node.rows, self._links = linked, None, None

    def _drop(self, node: _Node, name: str) -> None:
        """Take an empty node out; the last one moves into its place."""
        del self._by_name[name]
        last, last_name, last_type = self._nodes.pop(), self.names.pop(), self.types.pop()
        if last is not node:
            at = last.index = node.index
            self._nodes[at], self.names[at], self.types[at] = last, last_name, last_type
            self._matrix[at] = self._matrix[len(self._nodes)]
        self._matrix[len(self._nodes)] = 0.0

    def _grow(self) -> None:
        grown = np.zeros((len(self._nodes) * 3 // 2 + 4, self._matrix.shape[1]), dtype=np.float32)
        grown[: len(self._matrix)] = self._matrix
        self._matrix = grown
