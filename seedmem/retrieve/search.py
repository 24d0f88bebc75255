"""``retrieve``: the features of every memory, weighted and added up, and the best of them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.errors import ShapeError
from seedmem.retrieve.confidence import confidence
from seedmem.retrieve.context import Column
from seedmem.retrieve.features import Features
from seedmem.retrieve.query import Answer, Hit, Query
from seedmem.retrieve.weights import Weights, shipped
from seedmem.user import UserState
from seedmem.vectors import Vector

_NONE = Answer(hits=(), confidence=0.0, abstained=True)


def retrieve(
    state: UserState,
    query: Query,
    *,
    adapter: Adapter | None = None,
    weights: Weights | None = None,
) -> Answer:
    """Return the ``query.k`` best of a user's memories.

    Pure CPU work; whoever owns ``state`` holds its lock.

    Args:
        state: the user.
        query: what is asked.
        adapter: bends the query's vector first.
        weights: of the features; those of this package if None.

    Raises:
        ShapeError: the query's vector is not (d,) of the user's space.
    """
    weights = weights or shipped()
    features = Features(state, query, _adapted(state, query, adapter))
    if not features.admitted.any():
        return _NONE
    shares = _shares(features, weights.of(query.mode))
    scores = np.zeros(state.rows, dtype=np.float64)
    for share in shares.values():
        scores += share
    best = _best(scores, np.flatnonzero(features.candidates.scored), state, query.k)
    sure = confidence(features, scores, best, weights.confidence)
    return Answer(
        hits=tuple(_hit(state, int(row), shares) for row in best),
        confidence=sure,
        abstained=sure < weights.confidence.threshold,
    )


def _adapted(state: UserState, query: Query, adapter: Adapter | None) -> Vector | None:
    vector = query.vector
    if vector is not None and vector.shape != (state.space.dim,):
        raise ShapeError("query vector", got=vector.shape, want=(state.space.dim,))
    return vector if vector is None or adapter is None else adapter.apply(vector)


def _shares(features: Features, weights: Mapping[str, float]) -> dict[str, Column]:
    """Return each feature's share of every row's score; features without weight are left out."""
    return {
        name: features.column(name) * np.float32(weight)
        for name, weight in weights.items()
        if weight != 0.0
    }


def _best(
    scores: NDArray[np.float64], rows: NDArray[np.intp], state: UserState, k: int
) -> NDArray[np.intp]:
    """Return the ``k`` best of ``rows``, best first; ties: the elder memory first."""
    if k < len(rows):
        least = np.partition(scores[rows], -k)[-k]
        rows = rows[scores[rows] >= least]  # more than k where the last place is shared
    return rows[np.lexsort((state.born[rows], -scores[rows]))][:k]


def _hit(state: UserState, row: int, shares: Mapping[str, Column]) -> Hit:
    memory = state.memory(row)
    parts = {name: float(column[row]) for name, column in shares.items()}
    return Hit(
        memory_id=memory.memory_id,
        text=memory.text,
        score=sum(parts.values()),
        tier=max(parts, key=parts.__getitem__),
        parts=parts,
    )
