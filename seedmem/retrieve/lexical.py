"""How well a question's keywords match a memory, its window and its stretch of talk.

All three lie on one absolute scale, 0 to about 1.9 and 0 to 1, however many keywords there are: a
question whose words occur nowhere scores 0 everywhere, so that meaning decides. Formula: BM25
(Robertson and Zaragoza 2009) divided by the sum of the terms' rarities.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.context import Column, Context
from seedmem.retrieve.visible import Mask
from seedmem.text import Terms
from seedmem.user import UserState
from seedmem.user.keyword import K1, B

WINDOW, STRETCH = 2, 8  # turns to each side: of one exchange, of one subject of talk
_MOST_TERMS = 64  # keywords of a question; of a longer one the rarest that occur


class Lexical:
    """The keyword columns of a question, (rows,); rarities are counted on ``known`` memories."""

    def __init__(self, state: UserState, terms: Terms, known: Mask) -> None:
        self._length = np.where(known, state.length, 0).astype(np.float32)
        self._size = int(known.sum())
        unique = np.unique(terms)
        term, row, frequency = state.keyword.matches(unique)
        matrix = np.zeros((state.rows, len(unique)), dtype=np.float32)
        matrix[row, term] = frequency * known[row]
        count = np.bincount(term[known[row]], minlength=len(unique))
        rarity = np.log1p((self._size - count + 0.5) / (count + 0.5))
        self._total = max(float(rarity.sum()), 1e-9)
        occurring = np.flatnonzero(count)
        kept = occurring[np.argsort(-rarity[occurring], kind="stable")[:_MOST_TERMS]]
        self._frequency, self._rarity = matrix[:, kept], rarity[kept].astype(np.float32)

    @cached_property
    def keyword(self) -> Column:
        """BM25 of the memory."""
        return self._bm25(self._frequency, self._length)

    def borrowed(self, context: Context) -> tuple[Column, Column]:
        """Return what matches when a memory borrows from its neighbours.

        BM25 of the memory with two turns to each side, and the share of the question's rarity
        that occurs within eight.
        """
        borrowed = context.borrowed(self._frequency)
        length = context.borrowed(self._length[:, None])[WINDOW][:, 0]
        covered = np.minimum(borrowed[STRETCH], np.float32(1.0))
        return self._bm25(borrowed[WINDOW], length), self._weighed(covered)

    def _bm25(self, frequency: NDArray[np.float32], length: Column) -> Column:
        mean = max(float(length.sum()), 1.0) / max(self._size, 1)
        damped = (K1 * (1 - B) + length * (K1 * B / mean)).astype(np.float32)
        return self._weighed(frequency * np.float32(K1 + 1) / (frequency + damped[:, None]))

    def _weighed(self, matching: NDArray[np.float32]) -> Column:
        """Return (rows,): how much of the question's rarity matches, from (rows, terms)."""
        column: Column = matching @ self._rarity / np.float32(self._total)
        return column


def rows_with(state: UserState, terms: Terms) -> Column:
    """Return 1 for each row that has one of ``terms``, else 0."""
    found = np.zeros(state.rows, dtype=np.float32)
    found[state.keyword.matches(np.unique(terms))[1]] = 1.0
    return found
