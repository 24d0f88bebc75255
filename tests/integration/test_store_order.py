"""Properties: whatever is delivered again, the store ends where one delivery in order ends."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.settings import Settings
from streams.store import MEMORY, SEQUENCE, TOMBSTONE, Write, connect, field, id_of, parse

_users = itertools.count()


@dataclass(frozen=True)
class Event:
    """One event of the log; its place in the log is its arrival and, unless deleted, its text."""

    id: str
    version: int | None
    deleted: bool


events = st.lists(
    st.builds(
        Event,
        id=st.sampled_from("abc"),
        version=st.none() | st.integers(0, 4),
        deleted=st.booleans(),
    ),
    min_size=1,
    max_size=14,
)


def has_unique_versions(log: Sequence["Event"]) -> bool:
    given = Counter((event.id, event.version) for event in log if event.version is not None)
    return all(count == 1 for count in given.values())


def winner(log: Sequence[Event], id: str) -> tuple[int | None, bytes] | None:
    """The last event without a version that follows the first of the highest version, or that."""
    mine = [(i, e) for i, e in enumerate(log) if e.id == id]
    versions = [e.version for _, e in mine if e.version is not None]
    top = max(versions, default=None)
    first = next((i for i, e in mine if top is not None and e.version == top), -1)
    places = [i for i, e in mine if i == first or (e.version is None and i > first)]
    return (top, _payload(log, places[-1])) if places else None


def _payload(log: Sequence[Event], place: int) -> bytes:
    return TOMBSTONE if log[place].deleted else b"text %d" % place


async def after(url: str, log: Sequence[Event], delivered: Sequence[int]) -> dict[str, object]:
    store = await connect(Settings(redis=url, namespace="order-"), "g")
    user = f"user-{next(_users)}"
    for place in delivered:
        event = log[place]
        write = Write(user, field(MEMORY, event.id), event.version, place, _payload(log, place))
        await store.put([write])
    found = {
        id_of(name): (parse(value).version, parse(value).payload)
        async for page in store.read(user)
        for name, value in page.items()
        if name != SEQUENCE
    }
    await store.close()
    return found


def expected(log: Sequence[Event]) -> dict[str, object]:
    return {event.id: winner(log, event.id) for event in log}


@settings(max_examples=60, deadline=None)
@given(log=events, data=st.data())
def test_rewinds_change_nothing(redis_server, log, data):
    delivered: list[int] = []
    position = 0
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, position))
        position = data.draw(st.integers(position, len(log)))
        delivered += range(start, position)
    delivered += range(data.draw(st.integers(0, position)), len(log))

    assert asyncio.run(after(redis_server.url, log, delivered)) == expected(log)


@settings(max_examples=60, deadline=None)
@given(log=events.filter(has_unique_versions), data=st.data())
def test_any_order_and_repetition_ends_right_after_one_replay(redis_server, log, data):
    places = st.lists(st.integers(0, len(log) - 1), max_size=20)
    delivered = [*data.draw(places), *range(len(log))]

    assert asyncio.run(after(redis_server.url, log, delivered)) == expected(log)
