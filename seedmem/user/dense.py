"""Nearest memories by cosine: exact for most users, an hnswlib graph for large ones.

Exact search always works; a graph only makes it faster. So whenever a graph
is missing, unsound or in the making, exact search answers. The owner builds::

    if state.dense.needs_graph:         # under the user's lock
        build = state.dense.plan_build()
    build.run()                         # in a worker thread, no lock
    while not state.dense.adopt(build):  # under the lock
        build.run()                     # no lock: what came meanwhile
"""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import SnapshotError, VectorError
from seedmem.user.graph import Build, Graph
from seedmem.user.rows import Rows
from seedmem.user.snapshot import Frozen, freeze, thaw
from seedmem.vectors import Vector, VectorSpace

Found = tuple[NDArray[np.int64], NDArray[np.float32]]  # rows, cosines

_MOST = 512  # neighbours asked of a graph; above, exact search is as fast
_INLINE = 256  # memories that are built into a graph at once: below 50 ms
_CATCH_UP = 64  # nodes added under the lock at adoption: below 50 ms
_DELETED = 0.25  # of the live ones, before a graph is built anew; at 1.0 it is let go
_STALE = 0.25  # of the live ones: nodes of a snapshot that may be gone, memories it may lack
_SAMPLE = 32  # own vectors that an audit looks for: 25 ms at 20,000 × 384
_AUDIT_EVERY = 1000  # nodes added between two self-hit audits
_FEW = 64  # nodes below which no share counts


class Dense:
    """The vector index over ``rows``."""

    def __init__(self, rows: Rows, space: VectorSpace, *, exact_limit: int, user_id: str) -> None:
        self._rows = rows
        self._exact_limit = exact_limit
        user = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        self._identity = {"user": user, "space": str(space)}
        self._graph: Graph | None = None
        self._refused = 0  # size at which a fresh graph did not find its own vectors
        self._unaudited = 0

    @property
    def kind(self) -> str:
        """``exact`` or ``hnsw``: what answers now."""
        return "exact" if self._graph is None else "hnsw"

    @property
    def nbytes(self) -> int:
        """RAM bytes beside the rows' own vectors."""
        return 0 if self._graph is None else self._graph.nbytes

    @property
    def needs_graph(self) -> bool:
        """Whether the owner should build a graph now."""
        if self._rows.size <= self._exact_limit or self._rows.size < 1.1 * self._refused:
            return False
        return self._graph is None or self._deleted_more_than(_DELETED)

    def search(self, query: Vector, k: int) -> Found:
        """Return min(k, live) rows and their cosines, best first; ties: the elder memory first.

        Raises:
            VectorError: ``query`` is not (d,) or has a component that is not finite.
        """
        vectors = self._rows.vectors
        if query.shape != vectors.shape[1:] or not np.isfinite(query).all():
            raise VectorError(f"query must be {vectors.shape[1:]} and finite, got {query.shape}")
        k = max(0, min(k, self._rows.size))
        if self._graph is not None and 0 < k <= _MOST:
            rows = self._near(self._graph, query, k)
            if rows is not None:
                return self._ranked(rows, vectors[rows] @ query)
        return self._exact(query, k)

    def plan_build(self) -> Build:
        """Return a build over a copy of the live vectors."""
        live = self._rows["live"]
        return Build(self._rows["sequence"][live], self._rows.vectors[live])

    def adopt(self, build: Build) -> bool:
        """Serve from a build that has run; False if it lags: run it and offer it again.

        A build that does not find its own vectors is dropped, and exact
        search serves until the user has grown by a tenth.
        """
        sequences = self._rows["sequence"]
        lacking = np.flatnonzero(self._rows["live"] & ~np.isin(sequences, build.labels))
        if len(lacking) > _CATCH_UP:
            build.more(sequences[lacking], self._rows.vectors[lacking])
            return False
        build.graph.add(sequences[lacking], self._rows.vectors[lacking])
        for label in np.setdiff1d(build.labels, sequences).tolist():
            build.graph.remove(label)
        self._graph = build.graph
        self._refused = 0 if self.audit() else self._rows.size
        return True

    def audit(self) -> bool:
        """Check that the graph finds a sample of its own vectors; let it go if not."""
        self._unaudited = 0
        live = np.flatnonzero(self._rows["live"])
        sample = live[np.linspace(0, len(live) - 1, min(_SAMPLE, len(live)), dtype=np.intp)]
        if self._graph is None or not len(live) or self._graph.finds(self._rows.vectors[sample]):
            return True
        self._graph = None
        return False

    def snapshot(self) -> bytes | None:
        """Return the stored form of the graph; None where there is none. Never the vectors."""
        return None if self._graph is None else freeze(Frozen.of(self._graph), self._identity)

    def restore(self, raw: bytes) -> None:
        """Serve from a stored graph; memories that it lacks are added.

        Raises:
            SnapshotError: damaged, of another user or space, or too far from
                the memories that are here. Exact search serves.
        """
        frozen = thaw(raw, self._identity)
        rows = self._rows.rows_of(frozen.labels)
        gone, sequences = rows < 0, self._rows["sequence"]
        lacking = np.flatnonzero(self._rows["live"] & ~np.isin(sequences, frozen.labels))
        if (frozen.deleted & ~gone).any():
            raise SnapshotError("graph snapshot marks a memory deleted that is here")
        size, bound = self._rows.size, max(_FEW, _STALE * self._rows.size)
        if size == 0 or gone.sum() > bound or len(lacking) > bound:
            raise SnapshotError(
                f"graph snapshot is stale: {gone.sum()} of {len(gone)} nodes are gone, "
                f"{len(lacking)} of {size} memories are not in it"
            )
        vectors = np.where(gone[:, None], np.float32(0.0), self._rows.vectors[rows])
        self._graph = frozen.graph(vectors, gone)
        self._graph.add(sequences[lacking], self._rows.vectors[lacking])
        if not self.audit():
            raise SnapshotError("graph snapshot does not find the user's own vectors")

    def added(self, first: int) -> None:
        """Take in the rows from ``first`` on."""
        if self._graph is not None:
            self._graph.add(self._rows["sequence"][first:], self._rows.vectors[first:])
            self._unaudited += self._rows.count - first
            if self._unaudited >= _AUDIT_EVERY:
                self.audit()
        if self._graph is None and self._rows.size <= _INLINE and self.needs_graph:
            build = self.plan_build()
            build.run()
            self.adopt(build)

    def removing(self, row: int) -> None:
        """Leave out a row that is about to be wiped."""
        if self._graph is None:
            return
        self._graph.remove(int(self._rows["sequence"][row]))
        if self._rows.size - 1 <= self._exact_limit // 2 or self._deleted_more_than(1.0):
            self._graph = None  # frees the deleted vectors, also when no owner builds anew

    def _deleted_more_than(self, share: float) -> bool:
        deleted = 0 if self._graph is None else self._graph.deleted
        return deleted > max(_FEW, share * self._rows.size)

    def _near(self, graph: Graph, query: Vector, k: int) -> NDArray[np.int64] | None:
        """Return the graph's ``k`` rows; None if it does not give as many."""
        try:
            rows = self._rows.rows_of(graph.nearest(query, k))
        except RuntimeError:  # hnswlib found fewer than k
            return None
        return rows if (rows >= 0).all() else None

    def _exact(self, query: Vector, k: int) -> Found:
        cosines = self._rows.vectors @ query
        if self._rows.size < self._rows.count:
            cosines[~self._rows["live"]] = -np.inf
        best = np.argpartition(-cosines, k - 1)[:k] if 0 < k < len(cosines) else np.arange(k)
        return self._ranked(best, cosines[best])

    def _ranked(self, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> Found:
        order = np.lexsort((self._rows["born"][rows], -cosines))
        return rows[order], cosines[order]
