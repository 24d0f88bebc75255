"""From checked events to durable records and to the users in memory: what agents share."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from streams.loader import Entry
from streams.store import Placed, RecordStore, Write
from streams.users import HotUsers


class Change(NamedTuple):
    """What one event changes."""

    write: Write
    entry: Callable[[Placed], Entry] | None
    """Makes what the user's state takes in, once the write has its place; None: nothing."""


async def index(changes: Sequence[Change], store: RecordStore, users: HotUsers) -> None:
    """Make changes durable, then bring those that were accepted into the users in memory.

    Raises as ``RecordStore.put``; the call may be repeated.
    """
    async with users.changing:
        placed = await store.put([change.write for change in changes])
        fresh: dict[str, list[Entry]] = defaultdict(list)
        for change, place in zip(changes, placed, strict=True):
            user_id = change.write.user_id
            if place is None or change.entry is None:  # None: refused as older than what is stored
                continue
            if users.follows(user_id):
                fresh[user_id].append(change.entry(place))
        await users.apply(fresh)
