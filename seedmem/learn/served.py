"""A user as the service holds it, seen by a fit: its corpus, and ranks by the score that serves."""

from collections.abc import Sequence

import numpy as np

from seedmem.adapt import Adapter
from seedmem.learn.examples import Corpus, Examples, Rows
from seedmem.learn.gate import Ranks
from seedmem.learn.retrain import Rank
from seedmem.retrieve import Query, Weights, shipped
from seedmem.retrieve.rank import rank
from seedmem.user import UserState


def corpus_of(state: UserState) -> Corpus:
    """Return the live memories of ``state``, in the order of their rows, and its subjects."""
    rows = np.flatnonzero(state.live)
    row_in_corpus = np.full(state.rows, -1, dtype=np.int64)
    row_in_corpus[rows] = np.arange(len(rows))
    subjects, linked = state.subjects.links()
    return Corpus(
        space=state.space,
        memory_ids=tuple(state.memory(row).memory_id for row in rows.tolist()),
        memories=state.vectors[rows],
        subjects=state.subjects.matrix.copy(),
        links=np.stack([row_in_corpus[linked], subjects.astype(np.int64)], axis=1),
    )


def served_rank(
    state: UserState,
    examples: Examples,
    texts: Sequence[str | None],
    *,
    weights: Weights | None = None,
) -> Rank:
    """Return how serving ranks the questions of ``examples`` with an adapter.

    A gold that serving would never score ranks last.

    Args:
        state: the user; ``examples`` name rows of its ``corpus_of``.
        examples: questions.
        texts: of the questions.
        weights: of the features; those of this package if None.
    """
    rows = np.flatnonzero(state.live)
    weights = weights or shipped()

    def rank_of(question: int, adapter: Adapter) -> int:
        vector, gold = examples.queries[question], rows[list(examples.golds[question])]
        query = Query(text=texts[question], vector=vector, k=len(rows))
        found = rank(state, query, weights, adapter=adapter).rows
        places = np.flatnonzero(np.isin(found, gold))
        return int(places[0]) + 1 if places.size else len(rows)

    def ranks(adapter: Adapter, questions: Rows) -> Ranks:
        return np.array([rank_of(question, adapter) for question in questions.tolist()], np.int64)

    return ranks
