"""A seeded story of many users: every kind of event, in any order, doubled and stale."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from seedmem.vectors import to_wire
from streams.events import Event, MemoryCreated, MemoryRecalled, SubjectExtracted

DIM = 64  # of the encoder that the service of a scenario has, hash:64

LOOK_ALIKES = (
    "u1", "u10", "u1:", "U1", "u1 ", " u1", "u１", "u1\u200b", "{u1}", "u1*", "u[1]", "u1\n",
    "\u00fc1", "u\u03081",  # one letter, composed and not
    "\u0430da", "ada",  # the first begins with a Cyrillic letter
)  # fmt: skip

_PEOPLE = ("Maria", "Jonas", "my sister", "the dentist", "Omar", "grandma", "our neighbour")
_DEEDS = ("called about", "lent me", "repaired", "lost", "found", "talked about", "paid for")
_THINGS = ("the bicycle", "a blue kettle", "the piano", "two tickets", "her passport", "the tent")
_PLACES = ("in Lisbon", "at the lake", "after work", "on the train", "in the kitchen", "last week")
_SUBJECTS = ("Travel", "travel", "Home", "Café", "Cafe\u0301", "Family", "WORK", "Money", "Music")


def user_names(count: int) -> list[str]:
    """Return ``count`` names, the first of them easily taken for one another."""
    return [*LOOK_ALIKES, *(f"user-{number}" for number in range(count))][:count]


def sentence(chance: random.Random, number: int) -> str:
    """Return a memory that no other number has."""
    words = (chance.choice(part) for part in (_PEOPLE, _DEEDS, _THINGS, _PLACES))
    return f"{' '.join(words)}, note {number}"


def story(seed: int, *, users: int = 200, events: int = 4_000) -> list[Event]:
    """Return ``events`` events of ``users`` users, the same for the same arguments."""
    chance = random.Random(seed)
    tellers = [_Teller(name, chance) for name in user_names(users)]
    told: list[Event] = []
    while len(told) < events:
        told += chance.choice(tellers).tell()
    return told[:events]


def parts(told: Sequence[Event], count: int) -> list[Sequence[Event]]:
    """Return a story in ``count`` parts, so that each can outlast what is done to its service."""
    size = math.ceil(len(told) / count)
    return [told[first : first + size] for first in range(0, len(told), size)]


@dataclass
class _Teller:
    """Tells one user's part."""

    name: str
    chance: random.Random
    known: int = 0
    """Memories so far: ids ``m0`` to ``m{known - 1}``."""
    versions: dict[str, int] = field(default_factory=dict)
    mine: list[Event] = field(default_factory=list)

    def tell(self) -> list[Event]:
        """Return the next event, or a block of earlier ones once more."""
        if self.mine and self.chance.random() < 0.03:
            return self.mine[-self.chance.randint(1, 8) :] * self.chance.randint(1, 4)
        kinds: dict[Callable[[], Event], int] = {
            self._create: 40, self._change: 12, self._newer: 12, self._stale: 8, self._forget: 8,
            self._forget_newer: 3, self._bring_back: 4, self._link: 14, self._unlink: 2,
            self._recall: 5,
        }  # fmt: skip
        [kind] = self.chance.choices(list(kinds), list(kinds.values()))
        event = kind()
        self.mine.append(event)
        return [event]

    def _create(self) -> Event:
        self.known += 1
        version = self.chance.choice([None, None, 0, 1, self.chance.randint(2, 2**50)])
        return self._memory(f"m{self.known - 1}", version)

    def _change(self) -> Event:
        return self._memory(self._some_id(), None)

    def _newer(self) -> Event:
        id = self._some_id()
        return self._memory(id, self.versions.get(id, 0) + self.chance.randint(1, 3))

    def _stale(self) -> Event:
        id = self._some_id()
        return self._memory(id, max(0, self.versions.get(id, 0) - self.chance.randint(0, 2)))

    def _forget(self) -> Event:
        return MemoryCreated(user_id=self.name, memory_id=self._some_id(), deleted=True)

    def _forget_newer(self) -> Event:
        id = self._some_id()
        version = self.versions[id] = self.versions.get(id, 0) + 1
        return MemoryCreated(user_id=self.name, memory_id=id, version=version, deleted=True)

    def _bring_back(self) -> Event:
        """Create what was forgotten, if something was."""
        gone = [e.memory_id for e in self.mine if isinstance(e, MemoryCreated) and e.deleted]
        return self._memory(gone[-1], None) if gone else self._create()

    def _link(self) -> Event:
        """A subject of memories that are there, and of some that are still to come."""
        pool = [f"m{number}" for number in range(self.known + 3)]
        linked = self.chance.sample(pool, min(len(pool), self.chance.randint(1, 5)))
        return self._subject(memory_ids=linked, name=self.chance.choice(_SUBJECTS))

    def _unlink(self) -> Event:
        return self._subject(deleted=True)

    def _recall(self) -> Event:
        query = f"who {self.chance.choice(_DEEDS)} {self.chance.choice(_THINGS)}?"
        return MemoryRecalled(user_id=self.name, memory_id=self._some_id(), query=query)

    def _some_id(self) -> str:
        """An id, mostly of a memory that was created."""
        return f"m{self.chance.randrange(self.known + 1)}"

    def _memory(self, id: str, version: int | None) -> MemoryCreated:
        number = self.chance.randrange(2**32)
        if version is not None:
            self.versions[id] = max(version, self.versions.get(id, 0))
        memory = MemoryCreated(
            user_id=self.name,
            memory_id=id,
            text=sentence(self.chance, number),
            version=version,
            created_at=float(self.chance.randrange(1_600_000_000, 1_700_000_000)),
            session_id=self.chance.choice([None, "s1", "s2"]),
            role=self.chance.choice([None, "user", "assistant"]),
        )
        if self.chance.random() < 0.5:
            return memory
        vector = to_wire(np.random.default_rng(number).normal(size=DIM))
        return msgspec.structs.replace(memory, vector=vector)

    def _subject(self, **fields: Any) -> SubjectExtracted:
        version = self.chance.choice([None, None, self.chance.randint(0, 5)])
        id = f"s{self.chance.randrange(4)}"
        return SubjectExtracted(user_id=self.name, subject_id=id, version=version, **fields)
