"""Graphs of large users: built and saved in the background, one user at a time.

Exact search answers meanwhile, so nothing here is urgent, and what fails is
logged and tried again after the user's next change.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from seedmem.adapt import Adapter
from seedmem.user import UserState
from seedmem.user.graph import Build
from streams.errors import StreamsError
from streams.store import Graph
from streams.store.graphs import GraphStore

logger = logging.getLogger(__name__)

SAVE_AFTER = 0.1  # of the memories changed since the last snapshot

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class HotUser:
    """One user in memory. Hold ``lock`` around every use of ``state``, off the event loop."""

    user_id: str
    state: UserState
    adapter: Adapter | None = None
    """Bends this user's queries; None leaves them as they are."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    nbytes: int = 0
    """RAM bytes of ``state`` and ``adapter`` after the last change."""
    counted: int = 0
    """How many of them the budget counts."""
    needs_care: bool = False
    """Whether a graph should be built or saved now."""
    sequence: int = 0
    """Number of the last write that is in ``state``."""
    saved: int = 0
    """Number of the last write that the stored graph covers."""

    def measure(self, sequence: int) -> None:
        """Take note of a change up to write number ``sequence``. Hold the lock."""
        self.sequence = max(self.sequence, sequence)
        self.nbytes = self.state.nbytes + (self.adapter.nbytes if self.adapter else 0)
        dense, unsaved = self.state.dense, self.sequence - self.saved
        outgrown = dense.kind == "hnsw" and unsaved > SAVE_AFTER * self.state.size
        self.needs_care = dense.needs_graph or outgrown


class Caretaker:
    """Builds and saves graphs in a thread of its own."""

    def __init__(self, graphs: GraphStore) -> None:
        self._graphs = graphs
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="graphs")
        self._one = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.builds = 0
        self.saves = 0

    def tend(self, user: HotUser) -> None:
        """See to a user soon, unless that is under way already."""
        if user.user_id not in self._tasks:
            task = asyncio.create_task(self._tend(user))
            self._tasks[user.user_id] = task
            task.add_done_callback(lambda done: self._done(user.user_id, done))

    def leave(self, user_id: str) -> None:
        """Stop seeing to a user: what was built for it is not saved any more."""
        task = self._tasks.pop(user_id, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop; a build under way is waited for in vain and thrown away."""
        tasks = list(self._tasks.values())
        for user_id in list(self._tasks):
            self.leave(user_id)
        await asyncio.gather(*tasks, return_exceptions=True)
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _tend(self, user: HotUser) -> None:
        async with self._one:
            build = await self._run(_plan, user)
            while build is not None:
                await self._run(build.run)
                if await self._run(_adopt, user, build):
                    self.builds += 1
                    break
            graph = await self._run(snapshot, user)
            if graph is not None:
                await self._graphs.save(user.user_id, graph)
                user.saved = graph.sequence
                self.saves += 1

    def _done(self, user_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(user_id) is task:
            del self._tasks[user_id]
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StreamsError):
            logger.warning("a graph was not saved: %s", error)
        elif error is not None:
            logger.error("a graph was not built", exc_info=error)

    async def _run(self, call: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call, *args)


def _plan(user: HotUser) -> Build | None:
    with user.lock:
        return user.state.dense.plan_build() if user.state.dense.needs_graph else None


def _adopt(user: HotUser, build: Build) -> bool:
    with user.lock:
        return user.state.dense.adopt(build)


def snapshot(user: HotUser) -> Graph | None:
    """Return the user's graph with the number of the last write in it; None without a graph."""
    with user.lock:
        sequence, blob = user.sequence, user.state.dense.snapshot()
    return None if blob is None else Graph(sequence, blob)
