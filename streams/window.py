"""Work in flight, finished in the order in which it was started."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")


class Window(Generic[K]):
    """At most ``size`` tasks at a time; ``done`` sees each key in the order of ``add``.

    The oldest task stays in the window until ``done`` has seen it, so that a
    cancelled ``run`` can be followed by ``drain`` without a gap.
    """

    def __init__(self, size: int, done: Callable[[K], None]) -> None:
        self._free = asyncio.Semaphore(size)
        self._tasks: deque[tuple[K, asyncio.Task[None]]] = deque()
        self._added = asyncio.Event()
        self._done = done

    async def add(self, key: K, task: asyncio.Task[None]) -> None:
        """Put ``task`` behind the others; waits while the window is full."""
        self._tasks.append((key, task))
        self._added.set()
        await self._free.acquire()

    async def run(self) -> None:
        """Finish tasks for ever. Raises what a task raises."""
        while True:
            await self._added.wait()
            self._added.clear()
            await self.drain()

    async def drain(self) -> None:
        """Finish what is in the window."""
        while self._tasks:
            key, task = self._tasks[0]
            await asyncio.shield(task)
            self._done(key)
            self._tasks.popleft()
            self._free.release()
