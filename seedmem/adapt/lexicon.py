"""The lexicon: which of the user's own words a question reaches for, though it has none of them."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt.weights import gelu, served
from seedmem.errors import AdapterError, ShapeError
from seedmem.text import Terms
from seedmem.vectors import Vector

SHARPNESS = np.float32(4.0)
"""Of the question's vector, whose coordinates are small beside the embeddings of its words."""

Weight = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lexicon:
    """A distribution over the user's words, given a question::

        p(w | q) = softmax(W · g(4 · (V q + b) + Σ e(t)) + c),   t: the question's keywords

    learned from the user's memories, so that "the thing with my leg" reaches "physio". What it
    says of w is log p(w | q) − log p(w), p(w) being its mean over many questions.

    Weights are read-only float32 arrays that hold float16 numbers.

    Raises:
        AdapterError: a weight is not finite in float16, or the words are not in order.
        ShapeError: the arrays do not fit together.
    """

    words: Terms
    """(w,) hashes of the user's words, ascending."""
    asked: Terms
    """(a,) hashes of the words that questions may have, ascending."""
    query_map: Weight
    """V, (h, d)"""
    query_bias: Weight
    """b, (h,)"""
    asked_map: Weight
    """e, (a, h)"""
    word_map: Weight
    """W, (w, h)"""
    word_bias: Weight
    """c, (w,)"""
    background: Weight
    """(w,) log p(w)"""

    def __post_init__(self) -> None:
        sizes = len(self.query_bias), len(self.asked), len(self.words)
        wants = shapes(self.query_map.shape[-1], *sizes)
        for name, want in wants.items():
            weight = getattr(self, name)
            if weight.shape != want:
                raise ShapeError(f"lexicon {name}", got=weight.shape, want=want)
            object.__setattr__(self, name, served(f"lexicon {name}", weight))
        for name in ("words", "asked"):
            terms = getattr(self, name)
            if terms.dtype != np.uint32 or not (terms[1:] > terms[:-1]).all():
                raise AdapterError(f"lexicon {name}: want hashes in ascending order, each once")

    @property
    def dim(self) -> int:
        """d, the dimension of a question's vector."""
        return int(self.query_map.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of RAM that it takes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def favours(self, query: Vector, terms: Terms) -> Weight:
        """Return (w,): log p(w | q) − log p(w), for a question's (d,) vector and its keywords.

        Raises:
            ShapeError: the vector is not (d,).
        """
        if query.shape != (self.dim,):
            raise ShapeError("query vector", got=query.shape, want=(self.dim,))
        middle = SHARPNESS * (self.query_map @ query + self.query_bias)
        places = np.searchsorted(self.asked, terms)
        there = places < len(self.asked)
        places, terms = places[there], terms[there]
        middle += self.asked_map[places[self.asked[places] == terms]].sum(axis=0)
        scores = self.word_map @ gelu(middle) + self.word_bias
        highest = scores.max(initial=-np.inf)
        total = highest + np.log(np.exp(scores - highest).sum())
        favours: Weight = scores - total - self.background
        return favours


def shapes(dim: int, hidden: int, asked: int, words: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight, in the order they are stored."""
    return {
        "query_map": (hidden, dim),
        "query_bias": (hidden,),
        "asked_map": (asked, hidden),
        "word_map": (words, hidden),
        "word_bias": (words,),
        "background": (words,),
    }
