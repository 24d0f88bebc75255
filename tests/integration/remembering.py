"""Memories of a small space, made durable as the agents make them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from seedmem.memory import Memory
from seedmem.vectors import VectorSpace, pack, unit_rows, unpack
from streams.loader import Entry
from streams.records import encode, field_of
from streams.store import RecordStore, Write
from streams.users import HotUser

SPACE = VectorSpace("hash:8", 8)
_ROWS = unit_rows(np.random.default_rng(1).normal(size=(2_000, 8)))


def memory(number: int, text: str = "text") -> Memory:
    vector = unpack(pack(_ROWS[number]), 8)
    return Memory(memory_id=f"m{number}", text=text, vector=vector, sequence=0, born=0)


async def remember(
    store: RecordStore, user_id: str, numbers: Sequence[int], arrival: int = 1, text: str = "text"
) -> list[Entry]:
    """Make memories durable; return what is then applied to the hot user."""
    drafts = [memory(number, text) for number in numbers]
    placed = await store.put(
        [Write(user_id, field_of(d), None, arrival, encode(d)) for d in drafts]
    )
    return [
        (replace(draft, sequence=place.sequence, born=place.born), None)
        for draft, place in zip(drafts, placed, strict=True)
        if place is not None
    ]


def ids(user: HotUser) -> set[str]:
    with user.lock:
        return {user.state.memory(int(row)).memory_id for row in np.flatnonzero(user.state.live)}


def texts(user: HotUser) -> set[str]:
    with user.lock:
        return {user.state.memory(int(row)).text for row in np.flatnonzero(user.state.live)}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)
