"""Arrays of a fit: links both ways, twins, folds that share no answer, hard negatives."""

import numpy as np
import pytest

from seedmem.errors import ShapeError
from seedmem.learn.examples import Corpus, Examples, apart, folds
from seedmem.learn.negatives import hard_negatives
from seedmem.vectors import VectorSpace


def _corpus() -> Corpus:
    vectors = [[1, 0, 0], [0, 1, 0], [0.8, 0.6, 0], [0.6, 0.8, 0], [1, 0, 0], [0, 0, 1]]
    links = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 0), (0, 1), (5, 1)]
    return Corpus(
        space=VectorSpace("hash", 3),
        memory_ids=tuple("abcdef"),
        memories=np.array(vectors, dtype=np.float32),
        subjects=np.eye(2, 3, dtype=np.float32),
        links=np.array(links, dtype=np.int64),
    )


def test_links_are_read_both_ways():
    corpus = _corpus()

    assert [rows.tolist() for rows in corpus.subjects_of] == [[0, 1], [0], [0], [1], [0], [1]]
    assert [rows.tolist() for rows in corpus.memories_of] == [[0, 1, 2, 4], [3, 0, 5]]


def test_memories_with_one_vector_are_twins():
    assert _corpus().twin_of.tolist() == [0, 1, 2, 3, 0, 5]


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"links: got shape \(2, 3\), want \(2, 2\)"):
        Corpus(
            space=VectorSpace("hash", 3),
            memory_ids=(),
            memories=np.zeros((0, 3), dtype=np.float32),
            subjects=np.zeros((0, 3), dtype=np.float32),
            links=np.zeros((2, 3), dtype=np.int64),
        )
    with pytest.raises(ShapeError, match=r"queries: got shape \(2,\), want \(1,\)"):
        Examples(queries=np.zeros((2, 3), dtype=np.float32), golds=((0,),))


def test_folds_are_even_and_keep_one_first_answer_together():
    golds = [(0,)] * 4 + [(row,) for row in range(1, 9)]

    fold = folds(golds, count=3, seed=5)

    assert len(set(fold[:4].tolist())) == 1
    assert np.bincount(fold).tolist() == [4, 4, 4]
    assert np.array_equal(fold, folds(golds, count=3, seed=5))
    assert not np.array_equal(fold, folds(golds, count=3, seed=6))


def test_no_memory_answers_in_training_and_held_out():
    golds = [(0,), (1, 0), (2,), (3, 2), (4,)]
    fold = np.array([0, 1, 0, 1, 1])

    training, held_out = apart(golds, fold, 0)

    assert held_out.tolist() == [0, 2]
    assert training.tolist() == [4]


def test_a_hard_negative_shares_a_subject_and_is_less_near_than_the_gold():
    question = np.array([[1.0, 0, 0]], dtype=np.float32)
    # cos: a 1 · b 0 · c .8 · d .6 · e 1 (twin of a) · f 0;  gold c, so kept below .76:
    # of those that share subject 0 with it (a, b, e) only b

    of_c = hard_negatives(Examples(queries=question, golds=((2,),)), _corpus(), count=5)
    of_a = hard_negatives(Examples(queries=question, golds=((0,),)), _corpus(), count=5)

    assert [rows.tolist() for rows in of_c[0]] == [[1]]
    assert [rows.tolist() for rows in of_a[0]] == [[2, 3, 1, 5]]


def test_what_was_rejected_comes_first_and_an_answer_never():
    question = np.array([[1.0, 0, 0]], dtype=np.float32)
    asked = Examples(queries=question, golds=((2, 1),), rejected=((0,),))

    negatives = hard_negatives(asked, _corpus(), count=1)

    assert [rows.tolist() for rows in negatives[0]] == [[0], [0]]
