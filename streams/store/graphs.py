"""Snapshots of large users' graphs: pieces in one of two slots, and a manifest that names it.

The manifest is written last, so the previous snapshot serves until the new one
is whole. A snapshot is a cache: it is not waited for, and losing it costs time.
"""

import asyncio
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from seedmem.errors import SnapshotError
from streams.store.keys import UserKeys
from streams.store.session import Session

PIECE = 4_000_000  # bytes of one value: each call stays in the low milliseconds
SLOTS = (":a", ":b")


class Manifest(msgspec.Struct, array_like=True, frozen=True):
    """What a whole snapshot consists of."""

    user_id: str
    slot: str
    sequence: int
    size: int
    checksum: bytes


class Graph(NamedTuple):
    """A snapshot: the last write that it covers, and its bytes."""

    sequence: int
    blob: bytes


class GraphStore:
    """Snapshots of one generation."""

    def __init__(self, session: Session, generation: str) -> None:
        self._session, self._generation = session, generation

    async def save(self, user_id: str, graph: Graph) -> None:
        """Keep ``graph`` in place of the user's previous one."""
        old = await self._manifest(user_id)
        slot = _other(old.slot) if old is not None else SLOTS[0]
        manifest = Manifest(user_id, slot, graph.sequence, len(graph.blob), await _sum(graph.blob))
        key = self._key(user_id, slot)
        await self._session.run([("UNLINK", key)])
        for index, start in enumerate(range(0, len(graph.blob), PIECE)):
            await self._session.run([("HSET", key, index, graph.blob[start : start + PIECE])])
        named = ("SET", self._key(user_id), msgspec.msgpack.encode(manifest))
        await self._session.run([named, ("UNLINK", self._key(user_id, _other(slot)))])

    async def load(self, user_id: str) -> Graph | None:
        """Return the user's snapshot, or None.

        Raises:
            SnapshotError: it is damaged, or another user's. Then call ``quarantine``.
        """
        (raw,) = await self._session.run([("GET", self._key(user_id))])
        if raw is None:
            return None
        manifest = _decoded(raw)
        if manifest.user_id != user_id:
            raise SnapshotError("graph snapshot names another user than its key")
        blob = await self._pieces(user_id, manifest)
        if len(blob) != manifest.size or await _sum(blob) != manifest.checksum:
            raise SnapshotError(
                f"graph snapshot has {len(blob)} bytes of {manifest.size}, or other ones than saved"
            )
        return Graph(manifest.sequence, blob)

    async def quarantine(self, user_id: str) -> None:
        """Set the user's snapshot aside, so that it is not loaded again."""
        (raw,) = await self._session.run([("GET", self._key(user_id))])
        if raw is not None:
            aside = ("SET", self._key(user_id, ":damaged"), raw)
            await self._session.run([aside, ("UNLINK", self._key(user_id))])

    async def _pieces(self, user_id: str, manifest: Manifest) -> bytes:
        key = self._key(user_id, manifest.slot)
        pieces = []
        for index in range(-(-manifest.size // PIECE)):
            (piece,) = await self._session.run([("HGET", key, index)])
            pieces.append(piece or b"")
        return b"".join(pieces)

    async def _manifest(self, user_id: str) -> Manifest | None:
        (raw,) = await self._session.run([("GET", self._key(user_id))])
        try:
            return None if raw is None else _decoded(raw)
        except SnapshotError:
            return None

    def _key(self, user_id: str, part: str = "") -> str:
        return UserKeys(self._session.namespace, user_id).graph(self._generation, part)


def _decoded(raw: bytes) -> Manifest:
    try:
        return msgspec.msgpack.decode(raw, type=Manifest)
    except msgspec.DecodeError as error:
        raise SnapshotError(f"graph manifest cannot be read: {error}") from error


def _other(slot: str) -> str:
    return SLOTS[0] if slot == SLOTS[1] else SLOTS[1]


async def _sum(blob: bytes) -> bytes:
    return await asyncio.to_thread(lambda: blake2b(blob, digest_size=16).digest())
