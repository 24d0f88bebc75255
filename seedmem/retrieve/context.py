"""The turns around a turn, and how much of them it may borrow.

A short turn ("Yes, in May!") means little without its neighbours; a long one
stands alone. So a memory of n terms borrows with weight exp(−n / 20).
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.visible import Mask
from seedmem.user import UserState

Column = NDArray[np.float32]  # (rows,)
Chain = NDArray[np.int32]  # (rows + 1,): row → neighbour, -1 for none; index -1 gives -1

WINDOW, STRETCH = 2, 8  # turns to each side: of one exchange, of one subject of talk
_LONG = 20.0  # terms; an average turn of a chat has 10, of a talk with an assistant 80
_SMALL_TALK = 10.0  # terms; a turn of a talk that is shorter says the less, the shorter it is
_PAUSE = 1800.0  # seconds between two memories without a session that still are one talk
_SHARES = (np.float32(0.5), np.float32(0.25))  # of the first and the second neighbour on each side


class Context:
    """Who stands beside whom, among the memories that the query may know."""

    def __init__(self, state: UserState, known: Mask) -> None:
        """Take the rows of ``state``; a memory that is not ``known`` is nobody's neighbour."""
        apart = _stand_alone(state)
        chains = []
        for column in (state.previous, state.next):
            there = (column >= 0) & known[column] & known & ~apart
            if apart.any():
                there |= (column >= 0) & known[column] & known & _soon(state, column)
            chains.append(np.append(np.where(there, column, -1), np.int32(-1)).astype(np.int32))
        self.previous: Chain = chains[0]
        self.next: Chain = chains[1]
        self.borrows: Column = np.exp(state.length / -_LONG).astype(np.float32)
        """How much of its neighbours a memory borrows, 0 to 1."""
        self._is_question, self._terms = state.is_question, state.length
        self.length: Column = np.where(known, state.length, 0).astype(np.float32)
        """Terms of a memory; 0 where it is not known."""
        self.size = int(np.count_nonzero(known))
        """Memories that are known."""

    @classmethod
    def of(cls, state: UserState, known: Mask) -> "Context":
        """Return the context of each row; that of all memories is kept until one changes."""
        whole = int(np.count_nonzero(known)) == state.size
        return state.derived(_whole) if whole else cls(state, known)

    @cached_property
    def in_talk(self) -> Mask:
        """(rows,): whether a memory has a neighbour."""
        talk: Mask = (self.previous[:-1] >= 0) | (self.next[:-1] >= 0)
        return talk

    @cached_property
    def small_talk(self) -> Column:
        """How short a turn of a talk is, 0 to 1; a note is never too short."""
        short = np.maximum(0.0, 1.0 - self._terms / _SMALL_TALK)
        return (self.in_talk * short).astype(np.float32)

    @cached_property
    def replies(self) -> Column:
        """How much of itself a question lends to the turn after it, for each row; else 0."""
        before = self.previous[:-1]
        replies: Column = self.borrows * ((before >= 0) & self._is_question[before])
        return replies

    def mean(self, column: Column) -> Column:
        """Return each row's mean of ``column`` with its two neighbours on each side."""
        return (column + self.borrows * self._lent(column)) * self._evened

    def running(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the running sums of ``own``, (n, rows), talk after talk, for ``borrowed``.

        ``own`` holds whole numbers, so that differences of running sums are exact.
        """
        place, size = self._layout
        laid = np.zeros((len(own), size), dtype=np.float32)
        laid[:, place] = own
        return np.cumsum(laid, axis=1)

    def borrowed(
        self, own: NDArray[np.float32], running: NDArray[np.float32], reach: int
    ) -> NDArray[np.float32]:
        """Return ``own``, (n, rows), with what is borrowed from ``reach`` ≤ 8 turns a side."""
        around = running[:, 2 * reach + 1 :] - running[:, : -2 * reach - 1]
        borrowed: NDArray[np.float32] = around[:, self._layout[0] - (reach + 1)] - own
        borrowed *= self.borrows
        borrowed += own
        return borrowed

    @cached_property
    def window_length(self) -> Column:
        """``length`` with what is borrowed from two turns to each side."""
        own = self.length[None]
        length: Column = self.borrowed(own, self.running(own), WINDOW)[0]
        return length

    def _lent(self, column: Column) -> Column:
        """Return half of the turns beside each row and a quarter of those beside them."""
        place, size = self._layout
        laid = np.zeros(size, dtype=np.float32)
        laid[place] = column
        near, far = laid[1:-3] + laid[3:-1], laid[:-4] + laid[4:]
        lent: Column = (_SHARES[0] * near + _SHARES[1] * far)[place - 2]
        return lent

    @cached_property
    def _evened(self) -> Column:
        """1 / the sum of the weights of a mean."""
        evened: Column = np.reciprocal(1 + self.borrows * self._lent(np.ones_like(self.borrows)))
        return evened

    @cached_property
    def _layout(self) -> tuple[NDArray[np.intp], int]:
        """Each row's place on one line, and its length.

        Turns of a talk lie side by side there, and ``STRETCH`` empty places around each talk.
        """
        before = self.previous[:-1]
        head = np.where(before >= 0, before, np.arange(len(before)))
        distance = (before >= 0).astype(np.intp)
        while (further := head[head]).tobytes() != head.tobytes():  # each round looks twice as far
            distance += distance[head]
            head = further
        order = np.lexsort((distance, head))
        talk = np.cumsum(distance[order] == 0)  # from 1
        place = np.zeros(len(order), dtype=np.intp)
        place[order] = np.arange(len(order)) + talk * (STRETCH + 1)
        return place, len(order) + (len(order) and int(talk[-1]) + 1) * (STRETCH + 1)

    def reach(self, rows: NDArray[np.intp], steps: int) -> list[NDArray[np.intp]]:
        """Return, for 1 … ``steps`` to each side, the row that far from each of ``rows``."""
        found = []
        for chain in (self.previous, self.next):
            neighbour: NDArray[np.intp] = rows
            for _ in range(steps):
                neighbour = chain[neighbour].astype(np.intp)
                found.append(neighbour)
        return found


def _whole(state: UserState) -> Context:
    return Context(state, state.live)


def _stand_alone(state: UserState) -> Mask:
    """Return the memories without a session: notes, unless written in one go."""
    sessions = state.sessions
    if None not in sessions:
        return np.zeros(state.rows, dtype=np.bool_)
    alone: Mask = state.session == sessions.index(None)
    return alone


def _soon(state: UserState, column: NDArray[np.int32]) -> Mask:
    """Return whether a row and its neighbour were made within half an hour."""
    return np.abs(state.created_at - state.created_at[column]) <= _PAUSE
