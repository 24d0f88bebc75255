"""Hot users: who is in memory, loaded at first touch, let go under a byte budget.

Redis holds the truth; this is a cache of it that follows every write. Letting
a user go is free, and what goes wrong here is answered by letting go.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from seedmem.adapt import Adapter
from seedmem.errors import SnapshotError
from seedmem.user import UserState
from seedmem.vectors import VectorSpace
from streams.adapters import serving_adapter
from streams.caretaker import Caretaker, HotUser
from streams.loader import Entry, Loader
from streams.store import Graph, RecordStore
from streams.tasks import heard

__all__ = ["HotUser", "HotUsers"]

logger = logging.getLogger(__name__)

LOAD_THREADS = 2  # so that a huge user's load does not hold up the others'

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Load:
    """A load under way, and the writes that came meanwhile."""

    task: asyncio.Task[HotUser] = field(init=False)
    later: list[Entry] = field(default_factory=list)


class HotUsers:
    """The users that this worker has in memory. For one event loop."""

    def __init__(
        self,
        store: RecordStore,
        space: VectorSpace,
        executor: Executor,
        *,
        hot_bytes: int,
        exact_limit: int,
    ) -> None:
        """Start with nobody.

        Args:
            executor: threads in which new records are applied.
            hot_bytes: budget; the user touched last stays, however large.
            exact_limit: memories above which a user is searched by a graph.
        """
        self._store = store
        self._space = space
        self._executor = executor
        self._loaders = ThreadPoolExecutor(LOAD_THREADS, thread_name_prefix="loads")
        self._hot_bytes = hot_bytes
        self._exact_limit = exact_limit
        self._hot: OrderedDict[str, HotUser] = OrderedDict()  # least recently used first
        self._loading: dict[str, _Load] = {}
        self.caretaker = Caretaker(store.graphs)
        self.changing = asyncio.Lock()
        """Held from a write to the store until it is applied here, and around an erasure, so that
        nothing of an erased user comes back from a write under way."""
        self.nbytes = 0
        """Bytes of all hot users."""
        self.loads = 0
        self.evictions = 0
        self.failures = 0
        """Users let go because a record could not be applied."""
        self.damaged = 0
        """Stored records that loads left out."""

    def __len__(self) -> int:
        return len(self._hot)

    def __contains__(self, user_id: str) -> bool:
        return user_id in self._hot

    async def get(self, user_id: str) -> HotUser:
        """Return a user, loaded if need be; callers who come meanwhile share the load.

        A caller that is cancelled does not cancel it for the others. A load that
        fails, fails for all who wait, and the next caller tries again.

        Raises:
            StoreUnavailableError: the store cannot serve now.
            ForeignRecordError: the store holds another user under this user's key.
        """
        hot = self._hot.get(user_id)
        if hot is not None:
            self._hot.move_to_end(user_id)
            return hot
        load = self._loading.get(user_id)
        if load is None:
            load = self._loading[user_id] = _Load()
            load.task = asyncio.create_task(self._load(user_id, load))
            load.task.add_done_callback(heard)
        return await asyncio.shield(load.task)

    def follows(self, user_id: str) -> bool:
        """Whether durable records of a user must be brought in: the user is hot or just loading."""
        return user_id in self._hot or user_id in self._loading

    async def apply(self, fresh: Mapping[str, Sequence[Entry]]) -> None:
        """Bring durable records, by user, into the states of those who are hot or just loading."""
        found: dict[HotUser, Sequence[Entry]] = {}
        for user_id, entries in fresh.items():
            load, hot = self._loading.get(user_id), self._hot.get(user_id)
            if load is not None:
                load.later.extend(entries)
            elif hot is not None and entries:
                found[hot] = entries
        if not found:
            return
        failed = await self._run(self._executor, _bring_all_in, found)
        for hot in found:
            if hot in failed:
                self.failures += 1
                self.forget(hot.user_id)
            else:
                self._settle(hot)

    async def swap_adapter(self, user_id: str) -> None:
        """Have the stored adapter serve from the next query on, if the user is hot or loading.

        Raises as ``get``.
        """
        load = self._loading.get(user_id)
        hot = await asyncio.shield(load.task) if load else self._hot.get(user_id)
        if hot is not None:
            adapter = await serving_adapter(self._store.adapters, user_id, self._space)
            await self._run(self._executor, _bend, hot, adapter)
            self._settle(hot)

    def forget(self, user_id: str) -> None:
        """Let a user go; a load under way serves those who wait and is not kept."""
        self._loading.pop(user_id, None)
        self.caretaker.leave(user_id)
        hot = self._hot.pop(user_id, None)
        if hot is not None:
            self.nbytes -= hot.counted

    def drop(self, is_gone: Callable[[str], bool]) -> None:
        """Let go all users of whom ``is_gone`` says so, for example those of revoked partitions."""
        for user_id in [u for u in (*self._hot, *self._loading) if is_gone(u)]:
            self.forget(user_id)

    async def close(self) -> None:
        """Let everybody go, and stop the threads."""
        self.drop(lambda user_id: True)
        await self.caretaker.close()
        self._loaders.shutdown(wait=False, cancel_futures=True)

    async def _load(self, user_id: str, load: _Load) -> HotUser:
        self.loads += 1
        try:
            hot = await self._loaded(user_id)
            while load.later:
                entries, load.later = load.later, []
                await self._run(self._loaders, _bring_in, hot, entries)
        finally:
            is_mine = self._loading.get(user_id) is load  # else it was let go meanwhile
            if is_mine:
                del self._loading[user_id]
        if is_mine:
            self._hot[user_id] = hot
            self._settle(hot)
        return hot

    async def _loaded(self, user_id: str) -> HotUser:
        loader = Loader(self._space)
        async for page in self._store.read(user_id):
            await self._run(self._loaders, loader.add, page)
        state = UserState(self._space, exact_limit=self._exact_limit, user_id=user_id)
        adapter = await serving_adapter(self._store.adapters, user_id, self._space)
        hot = HotUser(user_id, state, adapter)
        graph = None
        if loader.count > self._exact_limit:
            graph = await self._store.graphs.load(user_id)
        if not await self._run(self._loaders, _fill, hot, loader, graph):
            await self._store.graphs.quarantine(user_id)
        self.damaged += loader.damaged
        return hot

    def _settle(self, hot: HotUser) -> None:
        """Count a hot user's bytes anew, keep to the budget, and see to its graph."""
        if self._hot.get(hot.user_id) is not hot:
            return
        self.nbytes += hot.nbytes - hot.counted
        hot.counted = hot.nbytes
        self._hot.move_to_end(hot.user_id)
        while self.nbytes > self._hot_bytes and len(self._hot) > 1:
            self.forget(next(iter(self._hot)))
            self.evictions += 1
        if hot.needs_care:
            self.caretaker.tend(hot)

    async def _run(self, executor: Executor, call: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, call, *args)


def _fill(hot: HotUser, loader: Loader, graph: Graph | None) -> bool:
    """Bring in what was stored; False if the stored graph is of no use."""
    is_sound = True
    with hot.lock:
        try:
            loader.fill(hot.state)
            if graph is not None:
                hot.state.load((), graph.blob)
            hot.saved = 0 if graph is None else graph.sequence
        except SnapshotError as error:
            logger.error("a stored graph is set aside and built anew: %s", error)
            is_sound = False
        hot.measure(loader.sequence)
    return is_sound


def _bring_in(hot: HotUser, entries: Sequence[Entry]) -> None:
    with hot.lock:
        hot.state.load(entries)
        hot.measure(max(record.sequence for record, _ in entries))


def _bring_all_in(found: Mapping[HotUser, Sequence[Entry]]) -> set[HotUser]:
    """Return the users whose state could not take a record, and is not to be used any more."""
    failed = set()
    for hot, entries in found.items():
        try:
            _bring_in(hot, entries)
        except Exception:
            logger.exception("a hot user is let go: a durable record could not be applied")
            failed.add(hot)
    return failed


def _bend(hot: HotUser, adapter: Adapter | None) -> None:
    with hot.lock:
        hot.adapter = adapter
        hot.measure(hot.sequence)
