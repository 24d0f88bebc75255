"""Users' query adapters: the last few versions, which of them serves, and every decision.

The version that serves is the newest one kept that is not above ``current``; 0, which is never
stored, is the identity. Adapters, decisions and notes are opaque here: ``seedmem.adapt`` and
``streams.learning`` know them.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from streams.store.keys import UserKeys
from streams.store.session import OWNED, SETTLE, Session
from streams.store.values import ERASED, PAIR, SEQUENCE

VERSIONS = 3  # adapters that a user keeps: the current one and those to go back to
DECISIONS = 100  # decisions that a user keeps; the oldest go first

_VERSION = re.compile(rb"v([1-9][0-9]*)")


class Standing(NamedTuple):
    """How a user stands; a decision that was begun on it holds only while it is still so."""

    is_known: bool
    erased: str
    """Fence of the last erasure; empty if there was none."""
    current: int
    newest: int
    """Highest version ever shipped; numbers are not used twice."""


class Supervision(NamedTuple):
    """What there is to learn from, and when somebody last looked at it."""

    pairs: int
    writes: int
    """Number of the last write to the user's records; 0 if there are none."""
    requested: int
    """Pairs when a retraining was last asked for because of them."""
    decided: bytes | None
    """What the last decision noted."""


class Settlement(NamedTuple):
    """A decision and what it changes."""

    version: int
    """Serves from now on."""
    decision: bytes
    adapter: bytes = b""
    """Stored form of ``version``; empty when it is kept already, or 0."""
    seen: int = 0
    """Write number of the last pair that the adapter was fitted to; 0 for none."""
    decided: bytes = b""
    """What ``Supervision.decided`` is from now on; empty leaves it."""


class AdapterStore:
    """Adapters of one generation. Raises as ``RecordStore`` does."""

    def __init__(self, session: Session, generation: str) -> None:
        self._session, self._generation = session, generation

    async def standing(self, user_id: str) -> Standing:
        """Return how the user stands now."""
        keys = self._keys(user_id)
        (owner, fence), numbers = await self._session.run(
            [
                ("HMGET", keys.meta, "user", b"fence:" + ERASED),
                ("HMGET", self._adapters(keys), "current", "newest"),
            ]
        )
        current, newest = map(_number, numbers)
        return Standing(owner == user_id.encode(), (fence or b"").decode(), current, newest)

    async def versions(self, user_id: str) -> list[int]:
        """Return the versions that are kept, newest first."""
        (names,) = await self._session.run([("HKEYS", self._adapters(self._keys(user_id)))])
        found = (_VERSION.fullmatch(name) for name in names)
        return sorted((int(match[1]) for match in found if match), reverse=True)

    async def load(self, user_id: str, version: int) -> bytes | None:
        """Return the stored form of ``version``, None if it is not kept."""
        return await self._field(user_id, f"v{version}")

    async def seen(self, user_id: str, version: int) -> int:
        """Return the write number of the last pair that ``version`` was fitted to."""
        return _number(await self._field(user_id, f"seen{version}"))

    async def quarantine(self, user_id: str, version: int, adapter: bytes) -> None:
        """Set a version aside, in place of the last one that was, so that it never serves."""
        keys = self._keys(user_id)
        owned = [keys.meta, self._adapters(keys)]
        aside: list[str | bytes | int] = [user_id, "HSET", "damaged", adapter]
        await self._session.run(
            [
                self._session.call(OWNED, owned, aside),
                self._session.call(OWNED, owned, [user_id, "HDEL", f"v{version}"]),
            ]
        )

    async def settle(self, user_id: str, since: Standing, settlement: Settlement) -> bool:
        """Make a decision durable, with all that it changes.

        Returns:
            False, and nothing was changed, when the user was erased or another decision came
            after ``since``.
        """
        keys = self._keys(user_id)
        arguments: list[str | bytes | int] = [user_id, since.erased, since.current, since.newest]
        arguments += [settlement.version, settlement.adapter, settlement.seen]
        arguments += [settlement.decided, settlement.decision, VERSIONS, DECISIONS]
        places = [keys.meta, self._adapters(keys), keys.decisions(self._generation)]
        (done,) = await self._session.run(
            [self._session.call(SETTLE, places, arguments)], durable=True
        )
        return bool(done)

    async def decisions(self, user_id: str) -> list[bytes]:
        """Return the user's decisions, the latest first."""
        key = self._keys(user_id).decisions(self._generation)
        (decisions,) = await self._session.run([("LRANGE", key, 0, -1)])
        return list(decisions)

    async def supervision(self, user_ids: Sequence[str]) -> list[Supervision]:
        """Return what there is to learn of each user."""
        commands = []
        for keys in map(self._keys, user_ids):
            commands += [
                ("HLEN", keys.hash_of(PAIR, self._generation)),
                ("HGET", keys.records(self._generation), SEQUENCE),
                ("HMGET", self._adapters(keys), "requested", "decided"),
            ]
        replies = iter(await self._session.run(commands))
        return [
            Supervision(max(0, fields - 1), _number(writes), _number(requested), decided)
            for fields, writes, (requested, decided) in zip(replies, replies, replies, strict=True)
        ]

    async def note_request(self, user_id: str, pairs: int) -> None:
        """Remember that a retraining was asked for because there are ``pairs`` pairs."""
        keys = self._keys(user_id)
        arguments: list[str | bytes | int] = [user_id, "HSET", "requested", pairs]
        await self._session.run(
            [self._session.call(OWNED, [keys.meta, self._adapters(keys)], arguments)]
        )

    async def _field(self, user_id: str, name: str) -> bytes | None:
        (value,) = await self._session.run([("HGET", self._adapters(self._keys(user_id)), name)])
        return None if value is None else bytes(value)

    def _adapters(self, keys: UserKeys) -> str:
        return keys.adapters(self._generation)

    def _keys(self, user_id: str) -> UserKeys:
        return UserKeys(self._session.namespace, user_id)


def _number(raw: bytes | None) -> int:
    """Return a stored count; 0 for none, and for what is no number."""
    return int(raw) if raw is not None and raw.isdigit() else 0
