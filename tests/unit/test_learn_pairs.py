"""Supervision: what pairs teach, in whatever order and state they come."""

from collections.abc import Sequence

import numpy as np
import pytest
from learnable_user import DIM, corpus

from seedmem.learn.examples import Corpus
from seedmem.learn.pairs import Dropped, Evidence, Outcome, Pair, gather

USER: Corpus = corpus(6)


def _query(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=DIM).astype(np.float32)


def _pair(query: int, memory_id: str, outcome: str = "used", at: float = 0.0) -> Pair:
    return Pair(memory_id=memory_id, vector=_query(query), outcome=Outcome(outcome), at=at)


def _said(evidence: Evidence) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
    return list(zip(evidence.examples.golds, evidence.examples.rejected, strict=True))


def test_pairs_of_one_query_are_one_question():
    evidence = gather(
        [_pair(1, "m3", at=1), _pair(1, "m0", at=2), _pair(1, "m4", "rejected", 3), _pair(2, "m5")],
        USER,
    )

    assert _said(evidence) == [((5,), ()), ((0, 3), (4,))]
    assert evidence.asked_at == (0.0, 3)
    assert evidence.dropped == {}


def test_a_repeated_pair_counts_once():
    evidence = gather([_pair(1, "m0", at=at) for at in (1, 2, 3)], USER)

    assert _said(evidence) == [((0,), ())]
    assert evidence.dropped == {Dropped.REPEATED: 2}


def test_of_contradicting_pairs_the_later_holds():
    pairs = [_pair(1, "m0", "used", 1), _pair(1, "m0", "rejected", 2), _pair(1, "m1", "used", 0)]

    evidence = gather(pairs, USER)

    assert _said(evidence) == [((1,), (0,))]
    assert evidence.dropped == {Dropped.CONTRADICTED: 1}


def test_the_order_of_arrival_does_not_matter():
    pairs = [_pair(q, f"m{m}", o, at) for q in (1, 2) for m, o, at in
             ((0, "used", 1), (0, "rejected", 1), (1, "used", 1), (2, "rejected", 2))]  # fmt: skip

    forward, backward = gather(pairs, USER), gather(pairs[::-1], USER)

    assert sorted(_said(forward)) == sorted(_said(backward))
    assert forward.dropped == backward.dropped


def test_pairs_of_deleted_memories_are_dropped():
    evidence = gather([_pair(1, "gone"), _pair(2, "m0")], USER)

    assert _said(evidence) == [((0,), ())]
    assert evidence.dropped == {Dropped.DELETED: 1}


@pytest.mark.parametrize(
    "vector",
    [
        np.full(DIM, np.nan),
        np.full(DIM, np.inf),
        np.zeros(DIM),
        np.ones(DIM + 1),
        np.ones((2, DIM)),
    ],
    ids=["nan", "infinite", "zero", "longer", "matrix"],
)
def test_vectors_that_cannot_be_compared_are_dropped(vector: np.ndarray):
    evidence = gather([Pair(memory_id="m0", vector=vector, at=0.0)], USER)

    assert len(evidence.examples) == 0
    assert evidence.examples.queries.shape == (0, DIM)
    assert evidence.dropped == {Dropped.VECTOR: 1}


def test_a_question_without_an_answer_teaches_nothing():
    evidence = gather([_pair(1, "m0", "rejected"), _pair(1, "m1", "rejected")], USER)

    assert len(evidence.examples) == 0
    assert evidence.dropped == {Dropped.UNANSWERED: 2}
