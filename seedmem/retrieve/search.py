"""``retrieve``: the one way from a question to an answer, for the service and for ``eval``."""

import math

import numpy as np

from seedmem.adapt import Adapter
from seedmem.retrieve.confidence import confidence
from seedmem.retrieve.query import Answer, Hit, Query
from seedmem.retrieve.rank import Ranking, rank
from seedmem.retrieve.weights import Weights, shipped
from seedmem.user import UserState


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
    ranking = rank(state, query, weights, adapter=adapter)
    if len(ranking.rows) == 0:
        return Answer(hits=(), confidence=0.0, abstained=True)
    sure = confidence(ranking, weights.confidence)
    parts = _parts(ranking)
    rows = ranking.rows.tolist()
    return Answer(
        hits=tuple(_hit(state, row, own) for row, own in zip(rows, parts, strict=True)),
        confidence=sure,
        abstained=sure < weights.confidence.threshold,
    )


def _parts(ranking: Ranking) -> list[dict[str, float]]:
    """Return the shares of each hit's score, by feature."""
    names, count = list(ranking.shares), len(ranking.rows)
    columns = [column[ranking.rows] for column in ranking.shares.values()]
    shares = np.array(columns, dtype=np.float64).reshape(len(names), count).T
    return [dict(zip(names, row, strict=True)) for row in shares.tolist()]


def _hit(state: UserState, row: int, parts: dict[str, float]) -> Hit:
    words = state.words(row)
    return Hit(
        memory_id=words.memory_id,
        text=words.text,
        score=math.fsum(parts.values()),
        tier=max(parts, key=parts.__getitem__, default="none"),
        parts=parts,
    )
