import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from user_records import gone, ids, memory, state_of

from seedmem.text import Terms, hash_terms
from seedmem.user import UserState
from seedmem.user.keyword import K1, B


def bm25(documents: Sequence[Sequence[int]], question: Sequence[int]) -> list[float]:
    """BM25 written out: Σ over terms of idf · tf · (k₁ + 1) / (tf + k₁ · (1 - b + b · l / l̄))."""
    mean = sum(map(len, documents)) / max(len(documents), 1)
    scores = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for term in question:
            having = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            if counts[term]:
                stretch = K1 * (1 - B + B * len(document) / mean)
                score += idf * counts[term] * (K1 + 1) / (counts[term] + stretch)
        scores.append(score)
    return scores


def hashes(*terms: int) -> Terms:
    return np.array(terms, dtype=np.uint32)


def filled(documents: Sequence[Sequence[int]], session: str = "s") -> UserState:
    state = state_of()
    for i, document in enumerate(documents):
        state.apply(memory(f"m{i}", i + 1, session=session), hashes(*document))
    return state


def test_a_score_is_what_bm25_says() -> None:
    state = filled([[1, 2], [1]])

    scores = state.keyword.scores(hashes(2))

    # by hand: idf = ln(1 + 1.5/1.5) = ln 2; length 2 of mean 1.5: .9 · (.25 + .75 · 4/3) = 1.125
    assert scores.tolist() == pytest.approx([math.log(2) * 1.9 / 2.125, 0.0], rel=1e-6)
    assert scores.dtype == np.float32


def test_scores_equal_bm25_written_out() -> None:
    rng = np.random.default_rng(3)
    documents = [rng.integers(0, 30, size=rng.integers(0, 12)).tolist() for _ in range(60)]
    state = filled(documents)

    for question in ([1], [1, 2, 3], [4, 4, 5], [99], [0, 7, 99, 7]):
        expected = bm25(documents, question)
        assert state.keyword.scores(hashes(*question)) == pytest.approx(expected, rel=1e-5)


def test_removing_a_memory_equals_never_having_had_it() -> None:
    documents = [[1, 2], [1, 3], [2, 2, 3], [1]]
    state = filled(documents)

    state.apply(gone("m1", 9))

    rows = [state.row_of(name) for name in ("m0", "m2", "m3")]
    expected = bm25([documents[0], documents[2], documents[3]], [1, 3])
    assert state.keyword.scores(hashes(1, 3))[rows] == pytest.approx(expected, rel=1e-5)
    assert state.keyword.scores(hashes(1, 3))[1] == 0.0


def test_an_update_replaces_the_terms() -> None:
    state = state_of(memory("a", 1, "apples"), memory("a", 2, "pears", born=1))

    assert state.keyword.scores(hash_terms(["appl"])).max() == 0.0
    assert ids(state, [int(state.keyword.scores(hash_terms(["pear"])).argmax())]) == ["a"]


def test_many_writes_and_merges_change_no_score() -> None:
    rng = np.random.default_rng(5)
    documents = [rng.integers(0, 50, size=12).tolist() for _ in range(900)]
    state = filled(documents)  # 10,000 postings: recent ones are merged twice
    one_by_one = state.keyword.scores(hashes(1, 2, 3))

    at_once = state_of()
    entries = [(memory(f"m{i}", i + 1), hashes(*d)) for i, d in enumerate(documents)]
    at_once.load(entries)

    assert one_by_one == pytest.approx(bm25(documents, [1, 2, 3]), rel=1e-5)
    assert (at_once.keyword.scores(hashes(1, 2, 3)) == one_by_one).all()


def test_the_largest_hash_and_a_frequency_above_255_are_counted() -> None:
    state = filled([[2**32 - 1] * 300, [0]])

    scores = state.keyword.scores(hashes(2**32 - 1, 0))

    assert scores == pytest.approx(bm25([[1] * 300, [0]], [1, 0]), rel=1e-2)  # 255 stands for 300


@pytest.mark.parametrize("question", [[], [7]])
def test_nothing_is_found_by_no_terms_unknown_terms_or_in_no_memories(question: list[int]) -> None:
    empty, wordless = state_of(), filled([[], []])

    assert empty.keyword.scores(hashes(*question)).shape == (0,)
    assert wordless.keyword.scores(hashes(*question)).tolist() == [0.0, 0.0]
