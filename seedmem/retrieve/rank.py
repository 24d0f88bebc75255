"""Score every memory in play: its features, weighted and added up."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.errors import ShapeError
from seedmem.retrieve.context import Column
from seedmem.retrieve.features import Features
from seedmem.retrieve.query import Query
from seedmem.retrieve.weights import Weights
from seedmem.user import UserState


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best rows and what put them there."""

    features: Features
    shares: Mapping[str, Column]
    """Feature → (rows,), its share of each score."""
    scores: NDArray[np.float64]
    """(rows,), the sum of the shares."""
    rows: NDArray[np.intp]
    """(n,), best first, n ≤ k."""


def rank(
    state: UserState, query: Query, weights: Weights, *, adapter: Adapter | None = None
) -> Ranking:
    """Return the ``query.k`` best rows; a feature without a weight is not computed.

    Raises:
        ShapeError: the query's vector is not (d,) of the user's space.
    """
    if query.vector is not None and query.vector.shape != (state.space.dim,):
        raise ShapeError("query vector", got=query.vector.shape, want=(state.space.dim,))
    features = Features(state, query, adapter)
    scores = np.zeros(state.rows, dtype=np.float64)
    if not features.admitted.any():
        return Ranking(features, {}, scores, np.zeros(0, dtype=np.intp))
    personal = adapter is not None and adapter.lexicon is not None
    shares = {}
    for name, weight in weights.of(query.mode, personal=personal).items():
        if weight != 0.0:
            column = features.column(name)
            said = column is not features.nothing
            shares[name] = column * np.float32(weight) if said else column
            if said:
                scores += shares[name]
    return Ranking(features, shares, scores, _best(scores, features, state, query.k))


def _best(
    scores: NDArray[np.float64], features: Features, state: UserState, k: int
) -> NDArray[np.intp]:
    """Return the ``k`` best rows in play, best first; ties: the elder memory first."""
    rows = np.flatnonzero(features.candidates.scored)
    if k < len(rows):
        least = np.partition(scores[rows], -k)[-k]
        rows = rows[scores[rows] >= least]  # more than k where the last place is shared
    return rows[np.lexsort((state.born[rows], -scores[rows]))][:k]
