"""How well a question's keywords match a memory, its window and its stretch of talk.

All three lie on one absolute scale, 0 to about 1.9 and 0 to 1, however many keywords there are: a
question whose words occur nowhere scores 0 everywhere, so that meaning decides. Formula: BM25
(Robertson and Zaragoza 2009) divided by the sum of the terms' rarities.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.context import STRETCH, WINDOW, Column, Context
from seedmem.retrieve.visible import Mask
from seedmem.text import Terms
from seedmem.user import UserState
from seedmem.user.keyword import K1, B

_MOST_TERMS = 64  # keywords of a question; of a longer one the rarest that occur


class Lexical:
    """The keyword columns of a question, (rows,); rarities are counted on ``known`` memories."""

    def __init__(self, state: UserState, terms: Terms, known: Mask, context: Context) -> None:
        self._context = context
        unique = np.unique(terms)
        term, row, frequency = state.keyword.matches(unique)
        matrix = np.zeros((len(unique), state.rows), dtype=np.float32)
        matrix[term, row] = frequency * known[row]
        count = np.bincount(term[known[row]], minlength=len(unique))
        rarity = np.log1p((context.size - count + 0.5) / (count + 0.5))
        self._total = max(float(rarity.sum()), 1e-9)
        occurring = np.flatnonzero(count)
        kept = occurring[np.argsort(-rarity[occurring], kind="stable")[:_MOST_TERMS]]
        self._frequency, self._rarity = matrix[kept], rarity[kept].astype(np.float32)

    @cached_property
    def keyword(self) -> Column:
        """BM25 of the memory."""
        return self._bm25(self._frequency, self._context.length)

    @cached_property
    def window(self) -> Column:
        """BM25 of the memory with what it borrows from two turns to each side."""
        borrowed = self._context.borrowed(self._frequency, self._running, WINDOW)
        return self._bm25(borrowed, self._context.window_length)

    @cached_property
    def stretch(self) -> Column:
        """Share of the question's rarity that occurs within eight turns to each side."""
        borrowed = self._context.borrowed(self._frequency, self._running, STRETCH)
        return self._weighed(np.minimum(borrowed, np.float32(1.0)))

    @cached_property
    def _running(self) -> NDArray[np.float32]:
        return self._context.running(self._frequency)

    def _bm25(self, frequency: NDArray[np.float32], length: Column) -> Column:
        mean = max(float(length.sum()), 1.0) / max(self._context.size, 1)
        damped = (K1 * (1 - B) + length * (K1 * B / mean)).astype(np.float32)
        return self._weighed(frequency * np.float32(K1 + 1) / (frequency + damped))

    def _weighed(self, matching: NDArray[np.float32]) -> Column:
        """Return (rows,): how much of the question's rarity matches, from (terms, rows)."""
        column: Column = self._rarity @ matching / np.float32(self._total)
        return column


def rows_with(state: UserState, terms: Terms) -> Column:
    """Return 1 for each row that has one of ``terms``, else 0."""
    found = np.zeros(state.rows, dtype=np.float32)
    found[state.keyword.matches(np.unique(terms))[1]] = 1.0
    return found
