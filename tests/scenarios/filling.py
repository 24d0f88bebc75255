"""Users with many memories, made durable at once, as if their events had long been applied."""

from collections.abc import Sequence

import numpy as np

from scenarios.stage import SPACE
from scenarios.story import DIM
from seedmem.memory import Memory
from seedmem.text import hash_terms, terms
from seedmem.vectors import unit_rows
from streams.records import encode, field_of
from streams.settings import Settings
from streams.store import Write, connect

BATCH = 1_000  # records of one write


async def filled(settings: Settings, names: Sequence[str], *, each: int) -> None:
    """Make ``each`` memories of every user durable, as the agents do."""
    store, chance = await connect(settings, SPACE), np.random.default_rng(60)
    for name in names:
        vectors = unit_rows(chance.normal(size=(each, DIM)))
        drafts = [
            Memory(memory_id=f"m{n}", text=f"note {n}", vector=vector, sequence=0, born=0)
            for n, vector in enumerate(vectors)
        ]
        writes = [
            Write(name, field_of(d), None, n, encode(d, hash_terms(terms(d.text))))
            for n, d in enumerate(drafts)
        ]
        for first in range(0, each, BATCH):
            await store.put(writes[first : first + BATCH])
    await store.close()
