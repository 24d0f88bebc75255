"""Nearest memories by cosine: exact for most users, a graph for large ones."""

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import VectorError
from seedmem.user.rows import Rows
from seedmem.vectors import Vector


class Dense:
    """The vector index over ``rows``."""

    def __init__(self, rows: Rows, *, exact_limit: int) -> None:
        self._rows = rows
        self._exact_limit = exact_limit

    def search(self, query: Vector, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return min(k, live) rows and their cosines, best first; ties: the elder memory first.

        Raises:
            VectorError: ``query`` is not (d,) or has a component that is not finite.
        """
        vectors = self._rows.vectors
        if query.shape != vectors.shape[1:] or not np.isfinite(query).all():
            raise VectorError(f"query must be {vectors.shape[1:]} finite, got {query.shape}")
        return self._exact(query, min(k, self._rows.size))

    def _exact(self, query: Vector, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        cosines = self._rows.vectors @ query
        if self._rows.size < self._rows.count:
            cosines[~self._rows["live"]] = -np.inf
        best = np.argpartition(-cosines, k - 1)[:k] if 0 < k < len(cosines) else np.arange(k)
        best = best[np.lexsort((self._rows["born"][best], -cosines[best]))]
        return best, cosines[best]
