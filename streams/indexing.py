"""From checked events to durable records and to the users in memory: what agents share."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from streams.loader import Entry
from streams.refusal import Reason, RefusedError
from streams.store import FULL, Placed, RecordStore, Write
from streams.users import HotUsers


class Change(NamedTuple):
    """What one event changes."""

    write: Write
    entry: Callable[[Placed], Entry] | None
    """Makes what the user's state takes in, once the write has its place; None: nothing."""


async def index(
    changes: Sequence[Change], store: RecordStore, users: HotUsers
) -> list[RefusedError | None]:
    """Make changes durable, then bring those that were accepted into the users in memory.

    Raises as ``RecordStore.put``; the call may be repeated.

    Returns:
        Of each change, why it was refused for good; None for one that is done, or outdated.
    """
    async with users.changing:
        placed = await store.put([change.write for change in changes])
        fresh: dict[str, list[Entry]] = defaultdict(list)
        for change, place in zip(changes, placed, strict=True):
            user_id = change.write.user_id
            if place is None or place is FULL or change.entry is None:
                continue
            if users.follows(user_id):
                fresh[user_id].append(change.entry(place))
        await users.apply(fresh)
    return [_no_room() if place is FULL else None for place in placed]


def _no_room() -> RefusedError:
    detail = "the user has as many records as SEEDMEM_USER_RECORDS allows; erase, or raise it"
    return RefusedError(Reason.FULL, detail, field="$.user_id")
