"""``retrieve``: features of every memory, weighted, added up, and the best of them."""

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.errors import ShapeError
from seedmem.retrieve.features import FEATURES, features
from seedmem.retrieve.query import Answer, Hit, Query
from seedmem.retrieve.visible import admitted, known
from seedmem.user import UserState

_WEIGHTS = {"lookup": (1.0, 0.7, 0.1), "association": (1.0, 0.0, 0.1)}


def retrieve(state: UserState, query: Query, *, adapter: Adapter | None = None) -> Answer:
    """Return the ``query.k`` best of a user's memories.

    Pure CPU work. The caller holds the lock of ``state``.

    Raises:
        ShapeError: the query's vector does not fit the user's space.
    """
    vector = query.vector
    if vector is not None and vector.shape != (state.space.dim,):
        raise ShapeError("query vector", got=vector.shape, want=(state.space.dim,))
    if vector is not None and adapter is not None:
        vector = adapter.apply(vector)
    allowed = np.flatnonzero(admitted(state, query))
    if len(allowed) == 0:
        return Answer(hits=(), confidence=0.0, abstained=True)
    weights = np.array(_WEIGHTS[query.mode], dtype=np.float32)
    shares = features(state, query, vector, known(state, query)) * weights  # (rows, features)
    scores = shares.sum(axis=1)
    best = _best(scores, allowed, state.born, query.k)
    hits = tuple(_hit(state, int(row), shares[row]) for row in best)
    return Answer(hits=hits, confidence=1.0, abstained=False)


def _best(
    scores: NDArray[np.float32], allowed: NDArray[np.intp], born: NDArray[np.int64], k: int
) -> NDArray[np.intp]:
    """Return the ``k`` best rows, best first; ties: the elder memory first."""
    if k < len(allowed):
        allowed = allowed[np.argpartition(-scores[allowed], k - 1)[:k]]
    return allowed[np.lexsort((born[allowed], -scores[allowed]))]


def _hit(state: UserState, row: int, shares: NDArray[np.float32]) -> Hit:
    memory = state.memory(row)
    return Hit(
        memory_id=memory.memory_id,
        text=memory.text,
        score=float(shares.sum(dtype=np.float64)),
        tier=FEATURES[int(shares.argmax())],
        parts=dict(zip(FEATURES, map(float, shares), strict=True)),
    )
