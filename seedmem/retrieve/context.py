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

_LONG = 20.0  # terms; an average turn of a chat has 10, of a talk with an assistant 80
_PAUSE = 1800.0  # seconds between two memories without a session that still are one talk
_SHARES = (0.5, 0.25)  # of the first and the second neighbour on each side


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

    def mean(self, column: Column) -> Column:
        """Return each row's mean of ``column`` with its two neighbours on each side."""
        padded = np.append(column, np.float32(0.0))
        total = column.copy()
        for neighbour, part in self._lenders:
            total += part * padded.take(neighbour)
        total *= self._evened
        return total

    def borrowed(self, own: NDArray[np.float32]) -> dict[int, NDArray[np.float32]]:
        """Return ``own``, (rows, n), with what is borrowed from up to 2 and up to 8 turns a side.

        Sums over neighbours are doubled: 2 turns are 1 and the 1 after it, and so on.
        """
        padded = np.concatenate([own, np.zeros_like(own[:1])])
        sums = {2: np.zeros_like(own), 8: np.zeros_like(own)}
        for chain, aheads in self._aheads:
            side = padded.take(chain, axis=0)
            for reach, ahead in aheads.items():
                side += side.take(ahead, axis=0)
                if reach in sums:
                    sums[reach] += side[:-1]
        return {reach: own + self.borrows[:, None] * total for reach, total in sums.items()}

    @cached_property
    def _lenders(self) -> list[tuple[Chain, Column]]:
        """The neighbours that a mean takes in, and the weight that each has."""
        found = []
        for chain in (self.previous, self.next):
            neighbour = chain[:-1]
            for share in _SHARES:
                found.append((neighbour, (share * self.borrows * (neighbour >= 0))))
                neighbour = chain[neighbour]
        return found

    @cached_property
    def _evened(self) -> Column:
        """1 / the sum of the weights of a mean."""
        total = np.ones_like(self.borrows)
        for _, part in self._lenders:
            total += part
        evened: Column = np.reciprocal(total)
        return evened

    @cached_property
    def _aheads(self) -> list[tuple[Chain, dict[int, Chain]]]:
        """Each chain, and where a sum of 1, 2 and 4 turns goes on, by how far it reaches then."""
        found = []
        for chain in (self.previous, self.next):
            second = chain.take(chain)
            found.append((chain, {2: chain, 4: second, 8: second.take(second)}))
        return found

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
