"""What a lexicon says of words, against its equation written out."""

import math

import numpy as np
import pytest

from seedmem.adapt import Lexicon
from seedmem.errors import ShapeError

WORDS = np.array([10, 20, 30], dtype=np.uint32)
ASKED = np.array([5, 6], dtype=np.uint32)
QUERY = np.array([0.6, 0.8], dtype=np.float32)


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _lexicon() -> Lexicon:
    """One middle unit, so that all can be computed by hand."""
    return Lexicon(
        words=WORDS,
        asked=ASKED,
        query_map=np.array([[0.5, 0.25]]),
        query_bias=np.array([0.125]),
        asked_map=np.array([[1.0], [-2.0]]),
        word_map=np.array([[1.0], [0.0], [-1.0]]),
        word_bias=np.array([0.0, 1.0, 0.0]),
        background=np.array([-1.0, -0.5, -2.0]),
    )


@pytest.mark.parametrize(("terms", "known"), [([], 0.0), ([5], 1.0), ([5, 6, 5, 99], 0.0)])
def test_words_are_favoured_by_the_equation(terms: list[int], known: float):
    found = _lexicon().favours(QUERY, np.array(terms, dtype=np.uint32))

    unit = _gelu(4 * (0.5 * 0.6 + 0.25 * 0.8 + 0.125) + known)
    scores = [unit, 1.0, -unit]
    total = math.log(sum(map(math.exp, scores)))
    wanted = [score - total - p for score, p in zip(scores, [-1.0, -0.5, -2.0], strict=True)]
    assert found == pytest.approx(wanted, abs=1e-5)


def test_a_vector_of_another_dimension_is_refused():
    with pytest.raises(ShapeError, match="query vector"):
        _lexicon().favours(np.ones(3, np.float32), ASKED)
