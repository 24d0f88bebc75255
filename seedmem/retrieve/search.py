"""``retrieve``: the one way from a question to an answer, for the service and for ``eval``."""

import math

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
    return Answer(
        hits=tuple(_hit(state, row, ranking) for row in ranking.rows.tolist()),
        confidence=sure,
        abstained=sure < weights.confidence.threshold,
    )


def _hit(state: UserState, row: int, ranking: Ranking) -> Hit:
    words = state.words(row)
    parts = {name: float(column[row]) for name, column in ranking.shares.items()}
    return Hit(
        memory_id=words.memory_id,
        text=words.text,
        score=math.fsum(parts.values()),
        tier=max(parts, key=parts.__getitem__, default="none"),
        parts=parts,
    )
