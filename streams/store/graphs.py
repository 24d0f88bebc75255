"""Snapshots of large users' graphs: pieces in one of two slots, and a manifest that names it.

The manifest is written last, so the previous snapshot serves until the new one
is whole. The bytes are opaque here and check themselves (``seedmem.user.snapshot``).
A snapshot is a cache: losing it costs time.
"""

from typing import Any, NamedTuple

import msgspec

from streams.store.keys import UserKeys
from streams.store.session import OWNED, Command, Session

PIECE = 1_000_000  # bytes of one value, so that each call stays in the low milliseconds
SLOTS = (":a", ":b")


class Manifest(msgspec.Struct, array_like=True, frozen=True):
    """Which slot holds the whole snapshot."""

    slot: str
    pieces: int
    sequence: int


class Graph(NamedTuple):
    """A snapshot: the last write that it covers, and its bytes."""

    sequence: int
    blob: bytes


class GraphStore:
    """Snapshots of one generation."""

    def __init__(self, session: Session, generation: str) -> None:
        self._session, self._generation = session, generation

    async def save(self, user_id: str, graph: Graph) -> None:
        """Keep ``graph`` in place of the user's previous one; an erased user keeps none."""
        old = await self._manifest(user_id)
        slot, other = SLOTS[::-1] if old is not None and old.slot == SLOTS[0] else SLOTS
        await self._session.run([("UNLINK", self._key(user_id, slot))])
        starts = range(0, len(graph.blob), PIECE)
        for index, start in enumerate(starts):
            piece = graph.blob[start : start + PIECE]
            await self._session.run([self._owned(user_id, slot, "HSET", index, piece)])
        manifest = msgspec.msgpack.encode(Manifest(slot, len(starts), graph.sequence))
        await self._session.run(
            [
                self._owned(user_id, "", "SET", manifest),
                ("UNLINK", self._key(user_id, other), self._key(user_id, ":damaged")),
            ]
        )

    async def load(self, user_id: str) -> Graph | None:
        """Return the user's snapshot, None if there is none to be trusted."""
        manifest = await self._manifest(user_id)
        if manifest is None:
            return None
        key = self._key(user_id, manifest.slot)
        pieces = []
        for index in range(manifest.pieces):
            (piece,) = await self._session.run([("HGET", key, index)])
            pieces.append(piece or b"")  # a piece too few fails the blob's own check
        return Graph(manifest.sequence, b"".join(pieces))

    async def quarantine(self, user_id: str) -> None:
        """Set the user's manifest aside, so that its snapshot is not loaded again."""
        (raw,) = await self._session.run([("GET", self._key(user_id))])
        if raw is not None:
            aside = self._owned(user_id, ":damaged", "SET", raw)
            await self._session.run([aside, ("UNLINK", self._key(user_id))])

    async def _manifest(self, user_id: str) -> Manifest | None:
        (raw,) = await self._session.run([("GET", self._key(user_id))])
        try:
            return None if raw is None else msgspec.msgpack.decode(raw, type=Manifest)
        except msgspec.DecodeError:
            return None  # the next snapshot overwrites it

    def _owned(self, user_id: str, part: str, command: str, *args: Any) -> Command:
        keys = [UserKeys(self._session.namespace, user_id).meta, self._key(user_id, part)]
        return self._session.call(OWNED, keys, [user_id, command, *args])

    def _key(self, user_id: str, part: str = "") -> str:
        return UserKeys(self._session.namespace, user_id).graph(self._generation, part)
