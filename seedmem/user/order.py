"""The order of a user's memories inside each session: who comes before whom.

Kept as two neighbour columns. Appending at the end of a session and removing
are done in place; anything else makes the columns be sorted again on the next read.
"""

import numpy as np
from numpy.typing import NDArray

from seedmem.user.rows import Rows

Neighbours = NDArray[np.int32]  # (rows,): a row, or -1 for none

_ONE_BY_ONE = 16  # longest block linked row by row; a longer one is sorted in


class SessionOrder:
    """Neighbours of each row in its session, by ``born``."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._previous: Neighbours = np.full(0, -1, dtype=np.int32)
        self._next: Neighbours = np.full(0, -1, dtype=np.int32)
        self._last: dict[int, int] = {}  # session → its last row
        self._sorted = True

    @property
    def previous(self) -> Neighbours:
        """(rows,): the row said before, in the same session; -1 if none."""
        self._sort()
        return self._previous[: self._rows.count]

    @property
    def next(self) -> Neighbours:
        """(rows,): the row said after, in the same session; -1 if none."""
        self._sort()
        return self._next[: self._rows.count]

    @property
    def nbytes(self) -> int:
        """RAM bytes."""
        return self._previous.nbytes + self._next.nbytes + 100 * len(self._last)

    def append(self, first: int) -> None:
        """Link the rows from ``first`` on, which were just appended."""
        if not self._sorted or self._rows.count - first > _ONE_BY_ONE:
            self.disturb()
            return
        if self._rows.count > len(self._previous):
            capacity = self._rows.count * 3 // 2 + 4
            missing = np.full(capacity - len(self._previous), -1, dtype=np.int32)
            self._previous = np.append(self._previous, missing)
            self._next = np.append(self._next, missing)
        for row in range(first, self._rows.count):
            self._link(row)

    def remove(self, row: int) -> None:
        """Unlink a row that is about to be wiped."""
        if not self._sorted:
            return
        before, after = int(self._previous[row]), int(self._next[row])
        if before >= 0:
            self._next[before] = after
        if after >= 0:
            self._previous[after] = before
        else:
            self._last[int(self._rows["session"][row])] = before
        self._previous[row] = self._next[row] = -1

    def disturb(self) -> None:
        """Have everything sorted again on the next read."""
        self._sorted = False

    def _link(self, row: int) -> None:
        session, born = int(self._rows["session"][row]), self._rows["born"]
        last = self._last.get(session, -1)
        if last >= 0 and born[last] > born[row]:
            self.disturb()
        self._previous[row], self._next[row] = last, -1
        if last >= 0:
            self._next[last] = row
        self._last[session] = row

    def _sort(self) -> None:
        if self._sorted:
            return
        rows, live = self._rows, np.flatnonzero(self._rows["live"])
        order = live[np.lexsort((rows["born"][live], rows["session"][live]))].astype(np.int32)
        session = rows["session"][order]
        together = session[1:] == session[:-1]
        self._previous = np.full(rows.count, -1, dtype=np.int32)
        self._next = np.full(rows.count, -1, dtype=np.int32)
        self._previous[order[1:][together]] = order[:-1][together]
        self._next[order[:-1][together]] = order[1:][together]
        last = np.append(~together, True)[: len(order)]
        self._last = dict(zip(session[last].tolist(), order[last].tolist(), strict=True))
        self._sorted = True
