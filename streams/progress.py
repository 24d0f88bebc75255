"""How far each assigned partition has been applied: freshness, lag and health read it."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Partition(NamedTuple):
    """One partition of one topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.number}]"


@dataclass(slots=True)
class _Track:
    next_offset: int | None = None  # the first offset not applied yet; None: nothing seen
    moved_at: float = 0.0  # clock() when it last moved, or when lag was last zero
    waiters: list[asyncio.Event] = field(default_factory=list)


class Progress:
    """Applied offsets of the partitions that this worker owns.

    Written by the event loop alone; ``lag``, ``positions`` and ``stuck`` may be read from
    any thread.

    Args:
        committed: first offset of a partition that the group has not committed, or None.
        end: the partition's log end offset, or None while it is unknown.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        committed: Callable[[Partition], int | None],
        end: Callable[[Partition], int | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._committed, self._end, self._clock = committed, end, clock
        self._tracks: dict[Partition, _Track] = {}

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Own exactly ``partitions``; what is known of the others is forgotten."""
        now = self._clock()
        kept = self._tracks
        self._tracks = {p: kept.get(p) or _Track(moved_at=now) for p in partitions}
        for partition, track in kept.items():
            if partition not in self._tracks:
                _wake(track)

    def advance(self, partition: Partition, offset: int) -> None:
        """Note that the event at ``offset`` has been applied."""
        if (track := self._tracks.get(partition)) is None:
            return
        track.next_offset = max(track.next_offset or 0, offset + 1)
        track.moved_at = self._clock()
        _wake(track)

    async def reached(self, partition: Partition, offset: int) -> bool:
        """Wait until ``offset`` has been applied; False when another worker owns the partition."""
        while (track := self._tracks.get(partition)) is not None:
            if self._next(partition, track) > offset:
                return True
            moved = asyncio.Event()
            track.waiters.append(moved)
            await moved.wait()
        return False

    def lag(self) -> dict[Partition, int]:
        """Return, for each owned partition, how many events wait; unknown ends count as 0."""
        return {p: self._lag(p, track) for p, track in list(self._tracks.items())}

    def positions(self) -> dict[Partition, int]:
        """Return, for each owned partition, the first offset that is not applied yet."""
        return {p: self._next(p, track) for p, track in list(self._tracks.items())}

    def stuck(self, seconds: float) -> list[Partition]:
        """Return the partitions that have lag and have not moved for ``seconds``."""
        now, found = self._clock(), []
        for partition, track in list(self._tracks.items()):
            if self._lag(partition, track) == 0:
                track.moved_at = now
            elif now - track.moved_at > seconds:
                found.append(partition)
        return found

    def excuse(self) -> None:
        """Forgive every partition the time that it has stood still."""
        now = self._clock()
        for track in list(self._tracks.values()):
            track.moved_at = now

    def _lag(self, partition: Partition, track: _Track) -> int:
        end = self._end(partition)
        return 0 if end is None else max(0, end - self._next(partition, track))

    def _next(self, partition: Partition, track: _Track) -> int:
        """The first offset not applied yet; also what an earlier owner committed counts."""
        return max(track.next_offset or 0, self._committed(partition) or 0)


def _wake(track: _Track) -> None:
    for waiter in track.waiters:
        waiter.set()
    track.waiters.clear()
