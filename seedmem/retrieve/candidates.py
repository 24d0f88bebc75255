"""Which memories are scored: all of a small user's; of a large one's those that some leg found.

What is scored is scored exactly, from the vectors themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.context import Column
from seedmem.retrieve.visible import Mask
from seedmem.user import UserState
from seedmem.vectors import Vector

_EACH = 256  # memories taken from each leg of a large user
_SAMPLE = 1024  # memories whose cosines stand for all of a large user's
_LEAST_GRAPH = 0.9  # share of the memories that must be in play for a graph to be asked


@dataclass(frozen=True, slots=True)
class Candidates:
    """The memories in play and their cosines."""

    cosine: Column
    """(rows,): cos(query, memory) where ``scored`` or ``sample``; elsewhere the sample's mean."""
    scored: Mask
    """(rows,): may become a hit."""
    sample: Mask
    """(rows,): over which standard scores are taken."""

    def cosines(self, state: UserState, vector: Vector) -> Column:
        """Return ``cosine`` for another vector, (d,)."""
        computed = np.flatnonzero(self.scored | self.sample)
        if len(computed) == state.rows:
            return np.asarray(state.vectors @ vector, dtype=np.float32)
        cosine = np.zeros(state.rows, dtype=np.float32)
        cosine[computed] = state.vectors[computed] @ vector
        return cosine


def candidates(
    state: UserState,
    vector: Vector | None,
    known: Mask,
    admitted: Mask,
    *,
    found: Callable[[], tuple[Column, Column]],
    beside: Callable[[NDArray[np.intp]], list[NDArray[np.intp]]],
) -> Candidates:
    """Return what is to be scored for a query.

    Args:
        state: the user.
        vector: (d,), or None: then cosines are 0.
        known: memories that count for statistics.
        admitted: memories that may become hits.
        found: gives (rows,) each, scores of the keyword and of the subject leg.
        beside: gives the neighbours, -1 where none is; they come along.
    """
    if vector is None:
        return Candidates(np.zeros(state.rows, dtype=np.float32), admitted, known)
    if state.dense.kind == "exact" or admitted.sum() < _LEAST_GRAPH * state.size:
        return Candidates(state.vectors @ vector, admitted, known)
    rows = np.flatnonzero(known)
    sample = np.zeros(state.rows, dtype=np.bool_)
    sample[rows[:: max(1, len(rows) // _SAMPLE)]] = True
    scored = np.zeros(state.rows, dtype=np.bool_)
    best = np.concatenate([state.dense.search(vector, _EACH)[0], *map(_positive_best, found())])
    neighbours = np.concatenate(beside(best))
    scored[best] = True
    scored[neighbours[neighbours >= 0]] = True
    computed = np.flatnonzero(scored | sample)
    cosine = np.zeros(state.rows, dtype=np.float32)
    cosine[computed] = state.vectors[computed] @ vector
    cosine[~(scored | sample)] = cosine[sample].mean()
    return Candidates(cosine, scored & admitted, sample)


def _positive_best(column: Column) -> NDArray[np.intp]:
    rows = np.flatnonzero(column > 0)
    if len(rows) > _EACH:
        rows = rows[np.argpartition(-column[rows], _EACH - 1)[:_EACH]]
    return rows
