"""BM25 over one user's memories, incremental.

One posting is one sorted uint64: ``term hash (32) | row (24) | term frequency (8)``.
Postings of recent writes lie in a short array of their own, so a write costs
microseconds. Removed rows are skipped when read and dropped when compacted;
document frequencies are counted on the query's postings, so none are stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedmem.text import Terms
from seedmem.user.rows import Rows

Scores = NDArray[np.float32]  # (rows,), 0 where nothing matches
_Postings = NDArray[np.uint64]
Matches = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]  # term, row, frequency

# Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond". R@1/R@10 on
# the turns of LoCoMo and the long messages of BEAM: .362/.680 and .335/.642. A smaller b is better
# on one and much worse on the other: at .9 and .4 they are .382/.692 and .242/.603.
K1, B = 0.9, 0.75
_TERM, _ROW = np.uint64(32), np.uint64(8)  # bits below the term, below the row
_LOW, _ROW_MASK, _TF_MASK = np.uint64(2**32 - 1), np.uint64(2**24 - 1), np.uint64(255)
_RECENT = 4096  # postings, and an eighth of all, before recent ones are merged
_NONE: _Postings = np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Uses:
    """Which of some words the rows use."""

    words: Terms
    word: NDArray[np.intp]
    """(u,) index in ``words`` …"""
    row: NDArray[np.intp]
    """(u,) … and the row that uses it."""
    count: NDArray[np.float32]
    """(rows,) how many of the words a row uses."""


class Keyword:
    """The keyword index over ``rows``."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._base = _NONE
        self._recent = _NONE
        self._fresh: list[_Postings] = []  # not yet sorted into ``_recent``
        self._uses: Uses | None = None

    @property
    def nbytes(self) -> int:
        """RAM bytes."""
        return self._base.nbytes + self._recent.nbytes + sum(a.nbytes for a in self._fresh)

    def add(self, first: int, terms: Terms, lengths: Sequence[int]) -> None:
        """Index documents as the rows from ``first`` on; ``lengths`` says how many terms each."""
        rows = np.repeat(np.arange(first, first + len(lengths), dtype=np.uint64), lengths)
        keys = terms.astype(np.uint64) << _TERM | rows << _ROW
        unique, repeats = np.unique(keys, return_counts=True)
        self._fresh.append(unique + np.minimum(repeats, 255).astype(np.uint64))
        self._uses = None

    def renumber(self, renumbered: NDArray[np.int64]) -> None:
        """Follow a compaction: row i is now ``renumbered[i]``, or gone if that is -1."""
        self._settle()
        self._uses = None
        every = np.sort(np.concatenate([self._base, self._recent]))
        rows = renumbered[(every >> _ROW & _ROW_MASK).astype(np.int64)]
        kept, moved = every[rows >= 0], rows[rows >= 0].astype(np.uint64)
        self._base = kept & ~(_ROW_MASK << _ROW) | moved << _ROW  # in order still: ranks are kept
        self._recent = _NONE

    def scores(self, term_hashes: Terms) -> Scores:
        """Return each memory's BM25 for a question's terms."""
        lengths = self._rows["length"]
        total = int(lengths.sum())
        if total == 0 or len(term_hashes) == 0:
            return np.zeros(self._rows.count, dtype=np.float32)
        questions, weights = np.unique(term_hashes, return_counts=True)
        term, row, frequency = self.matches(questions)
        matching = np.bincount(term, minlength=len(questions))
        rarity = weights * np.log1p((self._rows.size - matching + 0.5) / (matching + 0.5))
        stretch = lengths[row] * (B * self._rows.size / total) + (1 - B)
        parts = rarity[term] * (frequency * (K1 + 1) / (frequency + K1 * stretch))
        return np.bincount(row, parts, minlength=self._rows.count).astype(np.float32)

    def matches(self, terms: Terms) -> Matches:
        """Return the postings of unique ``terms`` in live rows: index of term, row, frequency."""
        self._settle()
        low = terms.astype(np.uint64) << _TERM
        found, counts = [], []
        for level in (self._base, self._recent):
            starts = np.searchsorted(level, low)
            count = np.searchsorted(level, low | _LOW, side="right") - starts
            offsets = np.repeat(starts - np.cumsum(count) + count, count)
            found.append(level[offsets + np.arange(len(offsets))])
            counts.append(count)
        term = np.concatenate([np.repeat(np.arange(len(terms)), count) for count in counts])
        postings = np.concatenate(found)
        row = (postings >> _ROW & _ROW_MASK).astype(np.int64)
        live = self._rows["live"][row]
        frequency = np.bitwise_and(postings, _TF_MASK).astype(np.float64)
        return term[live], row[live], frequency[live]

    def uses(self, words: Terms) -> Uses:
        """Return which rows, dead ones too, use which of ``words``: unique and ascending.

        Kept for the next call with the very same array, until a document is added.
        """
        if self._uses is None or self._uses.words is not words:
            self._settle()
            postings = np.concatenate([self._base, self._recent])
            term, row = (postings >> _TERM).astype(np.uint32), postings >> _ROW & _ROW_MASK
            word = np.minimum(np.searchsorted(words, term), max(len(words) - 1, 0))
            known = words[word] == term if len(words) else np.zeros(len(term), dtype=np.bool_)
            rows = row[known].astype(np.intp)
            count = np.bincount(rows, minlength=self._rows.count).astype(np.float32)
            self._uses = Uses(words, word[known], rows, count)
        return self._uses

    def _settle(self) -> None:
        """Sort fresh postings in."""
        if not self._fresh:
            return
        self._recent = np.sort(np.concatenate([self._recent, *self._fresh]))
        self._fresh = []
        if len(self._recent) > max(_RECENT, len(self._base) // 8):
            self._base = np.sort(np.concatenate([self._base, self._recent]))
            self._recent = _NONE
