"""How well a question's keywords match a memory, its window and its stretch of talk.

All three lie on one absolute scale, 0 to about 1.9 and 0 to 1, however many keywords there are: a
question whose words occur nowhere scores 0 everywhere, so that meaning decides. Formula: BM25
(Robertson and Zaragoza 2009) divided by the sum of the terms' rarities.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.context import Column, Context
from seedmem.retrieve.visible import Mask
from seedmem.text import Terms
from seedmem.user import UserState
from seedmem.user.keyword import K1, B, Matches

_WINDOW = 2  # turns to each side that a document lends from
_STRETCH = 7  # turns to each side that are one subject of talk
_MOST_TERMS = 64  # keywords of a question; of a longer one the rarest that occur


@dataclass(frozen=True, slots=True)
class Lexical:
    """Three columns (rows,)."""

    keyword: Column
    """BM25 of the memory."""
    window: Column
    """BM25 of the memory with what it borrows from two turns to each side."""
    stretch: Column
    """Share of the question's rarity that occurs within seven turns, as far as it borrows."""


def lexical(state: UserState, terms: Terms, known: Mask, context: Context) -> Lexical:
    """Return the keyword columns of a question; rarities are counted on ``known`` memories."""
    nothing = np.zeros(state.rows, dtype=np.float32)
    if len(terms) == 0 or not known.any():
        return Lexical(nothing, nothing, nothing)
    unique = np.unique(terms)
    matches = _among(state.keyword.matches(unique), known)
    size, count = int(known.sum()), np.bincount(matches[0], minlength=len(unique))
    rarity = np.log1p((size - count + 0.5) / (count + 0.5))
    if len(unique) > _MOST_TERMS:
        rarity[np.argsort(-rarity * (count > 0), kind="stable")[_MOST_TERMS:]] = 0.0
        matches = _weighty(matches, rarity)
    length = np.where(known, state.length, 0).astype(np.float64)
    window = _spread(matches, context, _WINDOW, len(unique), state.rows)
    term, row, frequency = _spread(matches, context, _STRETCH, len(unique), state.rows)
    covered = np.bincount(row, rarity[term] * np.minimum(frequency, 1.0), state.rows)
    columns = (
        _bm25(matches, rarity, length, size),
        _bm25(window, rarity, _window_length(length, context), size),
        covered,
    )
    return Lexical(*((column / rarity.sum()).astype(np.float32) for column in columns))


def rows_with(state: UserState, terms: Terms) -> Column:
    """Return 1 for each row that has one of ``terms``, else 0."""
    found = np.zeros(state.rows, dtype=np.float32)
    found[state.keyword.matches(np.unique(terms))[1]] = 1.0
    return found


def _among(matches: Matches, known: Mask) -> Matches:
    term, row, frequency = matches
    kept = known[row]
    return term[kept], row[kept], frequency[kept]


def _weighty(matches: Matches, rarity: NDArray[np.float64]) -> Matches:
    term, row, frequency = matches
    kept = rarity[term] > 0.0
    return term[kept], row[kept], frequency[kept]


def _bm25(
    matches: Matches, rarity: NDArray[np.float64], length: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    term, row, frequency = matches
    stretch = length[row] * (B * size / max(length.sum(), 1.0)) + (1 - B)
    parts = rarity[term] * (frequency * (K1 + 1) / (frequency + K1 * stretch))
    return np.bincount(row, parts, minlength=len(length)).astype(np.float64)


def _spread(matches: Matches, context: Context, steps: int, terms: int, rows: int) -> Matches:
    """Return the postings of windows: each memory lends its terms, as much as the other borrows."""
    term, row, frequency = matches
    reached = np.concatenate(context.reach(row, steps))
    lent = np.tile(frequency, 2 * steps) * context.borrows[reached]
    there = reached >= 0
    keys = np.concatenate([term * rows + row, (np.tile(term, 2 * steps) * rows + reached)[there]])
    spread = np.bincount(keys, np.concatenate([frequency, lent[there]]), terms * rows)
    cells = np.flatnonzero(spread)
    return cells // rows, cells % rows, spread[cells].astype(np.float64)


def _window_length(length: NDArray[np.float64], context: Context) -> NDArray[np.float64]:
    padded = np.append(length, 0.0)
    around = np.zeros_like(length)
    for neighbour in context.reach(np.arange(len(length)), _WINDOW):
        around += padded[neighbour]
    return length + context.borrows * around
