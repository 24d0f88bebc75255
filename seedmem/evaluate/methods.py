"""The rows of the report: a name → how it ranks.

Single legs and sums of legs are weightings of the served features, ranked by the
served ``retrieve``. What is not served (subject fusion in its published form,
PageRank) ranks here. New methods join by an entry in ``METHODS``.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from seedmem.evaluate.graph import pagerank
from seedmem.retrieve import Answer, Hit, Query, Weights, retrieve
from seedmem.retrieve.features import TOP_SUBJECTS
from seedmem.user import UserState

Method = Callable[[UserState, Query], Answer]
Maker = Callable[[str, Weights], Method]
"""User id, and weights that have not seen this user → how to ask this user."""

LAMBDA = 0.4  # λ of subject fusion
KEYWORD_SHARE = 0.7  # of z(BM25) beside z(dense), the best of a blend without training
FULL, BASELINE = "full", "dense+bm25"
LEARNED = {FULL}
"""Methods whose ranking depends on fitted weights."""


def _weighted(**lookup: float) -> Maker:
    weights = Weights(lookup=lookup, association=lookup)
    method = partial(retrieve, weights=weights)
    return lambda user_id, fitted: method


def _full(user_id: str, fitted: Weights) -> Method:
    return partial(retrieve, weights=fitted)


def _fusion(state: UserState, query: Query) -> Answer:
    """score(q, m) = cos(q, m) + λ · max cos(q, s) over the subjects s of m in the top N."""
    if query.vector is None:
        return _ranked(state, {}, query.k)
    subject = state.best_subject_scores(query.vector, TOP_SUBJECTS)
    parts = {"dense": state.vectors @ query.vector, "subject": LAMBDA * subject}
    return _ranked(state, parts, query.k)


def _ppr(state: UserState, query: Query) -> Answer:
    parts = {} if query.vector is None else {"visits": pagerank(state, query.vector)}
    return _ranked(state, parts, query.k)


def _ranked(state: UserState, parts: Mapping[str, NDArray[np.floating]], k: int) -> Answer:
    scores = np.zeros(state.rows, dtype=np.float64)
    for part in parts.values():
        scores += part
    rows = np.flatnonzero(state.live)
    rows = rows[np.lexsort((state.born[rows], -scores[rows]))][:k]
    hits = []
    for row in rows.tolist():
        memory, shares = state.memory(row), {name: float(part[row]) for name, part in parts.items()}
        tier = max(shares, key=shares.__getitem__, default="none")
        hits.append(
            Hit(
                memory_id=memory.memory_id,
                text=memory.text,
                score=float(scores[row]),
                tier=tier,
                parts=shares,
            )
        )
    return Answer(hits=tuple(hits), confidence=0.5, abstained=False)


METHODS: Mapping[str, Maker] = {
    "dense": _weighted(dense=1.0),
    "bm25": _weighted(keyword=1.0),
    "fusion": lambda user_id, fitted: _fusion,
    BASELINE: _weighted(dense=1.0, keyword=KEYWORD_SHARE),
    "ppr": lambda user_id, fitted: _ppr,
    FULL: _full,
}
