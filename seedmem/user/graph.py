"""An hnswlib graph over unit vectors, and building one away from the owner's lock.

A label is the ``sequence`` of the write that brought the vector, so it is
never used twice: an update adds a new label and marks the old one deleted.
hnswlib is not safe against adding and searching at once; the state's owner
keeps one writer or reader at a time, and a ``Build`` is nobody else's.
"""

import hnswlib
import numpy as np
from numpy.typing import NDArray

from seedmem.vectors import Matrix, Vector

Labels = NDArray[np.int64]

# Recall@10 of 20,000 × 384, a mixture of 48 true dimensions and noise: .968 at ef 100, .988–.996 at
# 200, .995 at 256, .999 at 400. ef_construction 200 takes twice the time and finds no more.
M = 16  # links per node and level
EF_CONSTRUCTION = 100
EF = 256  # candidates kept by a search
EMPTY_BYTES = 2_600_000  # of an empty index: hnswlib allocates 65,536 locks
_GROWTH = 1.5
_CHUNK = 256  # vectors added between two chances for other threads
_SELF_HITS = 0.95  # of the sample; a sound graph finds nearly all of its own vectors
_SAME = 1e-4  # a hit this near to cosine 1 is the vector itself or its twin


class Graph:
    """Approximate neighbours. ``deleted`` nodes still route searches, and are never returned."""

    def __init__(self, dim: int, *, capacity: int) -> None:
        self.index = hnswlib.Index(space="ip", dim=dim)
        self.index.init_index(max(capacity, 1), M=M, ef_construction=EF_CONSTRUCTION)
        self.index.set_num_threads(1)
        self.deleted = 0

    @property
    def count(self) -> int:
        """Number of nodes, deleted ones included."""
        return int(self.index.get_current_count())

    @property
    def nbytes(self) -> int:
        """RAM bytes."""
        node = 4 * int(self.index.dim) + 8 * M + 12 + 60  # vector, links, label; lookup tables
        return EMPTY_BYTES + node * int(self.index.get_max_elements())

    def add(self, labels: Labels, vectors: Matrix) -> None:
        """Add nodes with labels that were never used, growing first where needed."""
        needed = self.count + len(labels)
        if needed > self.index.get_max_elements():
            self.index.resize_index(int(needed * _GROWTH) + 16)
        for start in range(0, len(labels), _CHUNK):
            part = slice(start, start + _CHUNK)
            self.index.add_items(vectors[part], labels[part], num_threads=1)

    def remove(self, label: int) -> None:
        """Never return a node again."""
        self.index.mark_deleted(label)
        self.deleted += 1

    def nearest(self, query: Vector, k: int) -> Labels:
        """Return the labels of about the ``k`` nearest nodes.

        Raises:
            RuntimeError: hnswlib found fewer.
        """
        self.index.set_ef(max(EF, k))
        labels, _ = self.index.knn_query(query, k, num_threads=1)
        return np.asarray(labels[0], dtype=np.int64)

    def finds(self, vectors: Matrix) -> bool:
        """Return whether it finds a sample of its own ``vectors``: a damaged graph loses some."""
        self.index.set_ef(EF)
        try:
            _, distances = self.index.knn_query(vectors, 1, num_threads=1)
        except RuntimeError:
            return False
        return bool((distances[:, 0] < _SAME).mean() >= _SELF_HITS)


class Build:
    """A graph in the making: a copy of the vectors, touched by one thread only."""

    def __init__(self, labels: Labels, vectors: Matrix) -> None:
        self.graph = Graph(vectors.shape[1], capacity=int(len(labels) * _GROWTH))
        self.labels: Labels = np.zeros(0, dtype=np.int64)  # in the graph
        self._waiting = (labels, vectors)

    def run(self) -> None:
        """Add what waits. Takes seconds for a large user and releases the GIL meanwhile."""
        labels, vectors = self._waiting
        self.graph.add(labels, vectors)
        self.labels = np.concatenate([self.labels, labels])
        self._waiting = (labels[:0], vectors[:0])

    def more(self, labels: Labels, vectors: Matrix) -> None:
        """Have the next ``run`` add these too."""
        self._waiting = (labels, vectors)
