"""Every user's records in Redis: versioned writes, paged reads, erasure."""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import chain

from streams.errors import ForeignRecordError
from streams.settings import Settings
from streams.store.adapters import AdapterStore
from streams.store.graphs import GraphStore
from streams.store.keys import OF_GENERATION, OF_USER, UserKeys, every_meta, keys_of
from streams.store.questions import Questions
from streams.store.session import ERASE, PUT, Command, Session
from streams.store.values import (
    EXTRACTED,
    FULL,
    MEMORY,
    NAME,
    PAIR,
    SUBJECT,
    Placed,
    Stored,
    Write,
    parse,
)

logger = logging.getLogger(__name__)

PAGE = 500  # fields of one read; about half a megabyte

_FOLLOWS = {SUBJECT: (NAME,), MEMORY: (EXTRACTED,)}
"""Kinds that are written when an event of another kind arrives."""

Page = Mapping[bytes, bytes]
"""Fields and stored values, unparsed: see ``streams.store.values.parse``."""

_Put = tuple[Sequence[str], Sequence[str | bytes | int]]  # keys and arguments of one user's hash


class RecordStore:
    """The records of one generation (vector space), and what outlives generations.

    Every method raises ``StoreUnavailableError`` while Redis cannot serve (the
    same call may be repeated), ``StoreRefusedError`` when it refuses,
    ``StoreLostError`` once its data is gone, and ``ForeignRecordError`` when a
    key belongs to another user.
    """

    def __init__(self, session: Session, generation: str, *, user_records: int = 0) -> None:
        """Start on an open session.

        Args:
            user_records: most records of one user, tombstones included; 0 for any number.
        """
        self._session = session
        self.generation = generation
        self._user_records = user_records
        self.graphs = GraphStore(session, generation)
        self.adapters = AdapterStore(session, generation)
        self.questions = Questions(session)
        self.losses = 0
        """Users that were found with a part of their keys missing."""

    def adapters_of(self, generation: str) -> AdapterStore:
        """Return the adapters of another generation."""
        return AdapterStore(self._session, generation)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def ping(self) -> None:
        """Ask the server for nothing but whether it still has our data."""
        await self._session.run([])

    async def put(self, writes: Sequence[Write]) -> list[Placed | None]:
        """Write what is newer than stored; durable on return.

        One script call, however many users; on a Redis Cluster one for each user and hash, whose
        keys lie together. It may be repeated, after any error and by replay: what is stored
        already gets its place again.

        Returns:
            The place of each write; None for one that a newer write, or an erasure, refuses;
            ``FULL`` for a new memory or subject of a user who has ``user_records`` already.
        """
        if not writes:
            return []
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index, write in enumerate(writes):
            keys = self._keys(write.user_id)
            places[write.user_id, keys.hash_of(write.field, self.generation)].append(index)
        puts = [self._put(user, key, writes, at) for (user, key), at in places.items()]
        calls = [[put] for put in puts] if self._session.is_cluster else [puts]
        replies = await self._session.run([self._put_call(call) for call in calls], durable=True)
        numbers = list(chain.from_iterable(replies))
        placed: list[Placed | None] = [None] * len(writes)
        order = chain.from_iterable(places.values())
        for index, sequence, born in zip(order, numbers[::2], numbers[1::2], strict=True):
            placed[index] = _place(sequence, born)
        return placed

    async def read(self, user_id: str, generation: str | None = None) -> AsyncIterator[Page]:
        """Yield the user's records in pages; a field may come twice, in two states.

        The counter ``SEQUENCE`` is among the fields. An unknown user has no page.
        """
        generation = generation or self.generation
        keys = self._keys(user_id)
        records = keys.records(generation)
        (owner, registered), exists = await self._session.run(
            [("HMGET", keys.meta, "user", f"generation:{generation}"), ("EXISTS", records)]
        )
        _check_owner(user_id, owner)
        if bool(owner and registered) != bool(exists):
            self.losses += 1
            logger.error("%s: meta without records, or records without meta", keys.prefix)
        if exists:
            async for page in self._scan(records):
                yield page

    async def get_many(self, user_id: str, fields: Sequence[bytes]) -> list[Stored | None]:
        """Return what each of ``fields`` holds; a tombstone has an empty payload."""
        keys = self._keys(user_id)
        places: dict[str, list[int]] = defaultdict(list)
        for index, field in enumerate(fields):
            places[keys.hash_of(field, self.generation)].append(index)
        commands = [
            ("HMGET", key, *(fields[index] for index in indices)) for key, indices in places.items()
        ]
        owner, *replies = await self._session.run([("HGET", keys.meta, "user"), *commands])
        _check_owner(user_id, owner)
        found: list[Stored | None] = [None] * len(fields)
        for indices, values in zip(places.values(), replies, strict=True):
            for index, value in zip(indices, values, strict=True):
                found[index] = None if value is None else parse(value)
        return found

    async def pairs(self, user_id: str) -> AsyncIterator[Page]:
        """Yield the user's supervision pairs in pages."""
        keys = self._keys(user_id)
        (owner,) = await self._session.run([("HGET", keys.meta, "user")])
        _check_owner(user_id, owner)
        async for page in self._scan(keys.hash_of(PAIR, self.generation)):
            yield page

    async def erase(self, user_id: str, fences: Mapping[bytes, int]) -> dict[str, int]:
        """Delete everything of the user, in every generation, durably.

        Args:
            fences: for each kind, the arrival up to which writes stay refused for
                ever, so that a replay brings nothing back: the end of the user's
                partition of the kind's topic. A lower fence never replaces a higher.
                ``SUBJECT`` fences ``NAME`` too, and ``MEMORY`` fences ``EXTRACTED``.

        Returns:
            How many entries were deleted, by name of the key.
        """
        keys = self._keys(user_id)
        arguments: list[str | bytes | int] = [user_id, keys.prefix, self.generation]
        for suffixes in (OF_GENERATION, OF_USER):
            arguments += [len(suffixes), *suffixes]
        for kind, arrival in fences.items():
            for fenced in (kind, *_FOLLOWS.get(kind, ())):
                arguments += [fenced, arrival]
        (reply,) = await self._session.run(
            [self._session.call(ERASE, [keys.meta], arguments)], durable=True
        )
        counts = dict.fromkeys((*OF_GENERATION, *OF_USER), 0)
        for name, count in zip(reply[::2], reply[1::2], strict=True):
            counts[name.decode()] += count
        return counts

    async def fences(self, user_id: str) -> dict[bytes, int]:
        """Return, by kind, the arrival up to which an erasure keeps writes out."""
        (meta,) = await self._session.run([("HGETALL", self._keys(user_id).meta)])
        prefix = b"fence:"
        return {n.removeprefix(prefix): int(v) for n, v in meta.items() if n.startswith(prefix)}

    async def generations(self, user_id: str) -> list[str]:
        """Return the vector spaces that the user has records in, sorted."""
        meta = self._keys(user_id).meta
        owner, names = await self._session.run([("HGET", meta, "user"), ("HKEYS", meta)])
        _check_owner(user_id, owner)
        prefix = b"generation:"
        return sorted(n.removeprefix(prefix).decode() for n in names if n.startswith(prefix))

    async def users(self) -> AsyncIterator[str]:
        """Yield the id of every user of the namespace, in no order."""
        cursor, seen, pattern = 0, set[bytes](), every_meta(self._session.namespace)
        while True:
            cursor, keys = await self._session.scan(cursor, pattern, PAGE)
            fresh = [key for key in keys if key not in seen]
            seen.update(fresh)
            for owner in await self._session.run([("HGET", key, "user") for key in fresh]):
                if owner is not None:
                    yield owner.decode()
            if not cursor:
                return

    def _put(self, user_id: str, key: str, writes: Sequence[Write], indices: Sequence[int]) -> _Put:
        """Return the keys and arguments of some of a user's ``writes``, into one hash."""
        keys = self._keys(user_id)
        arguments: list[str | bytes | int] = [user_id, "", 0, len(indices)]
        if key == keys.records(self.generation):
            arguments[1:3] = self.generation, self._user_records
        for index in indices:
            write = writes[index]
            version = "" if write.version is None else write.version
            arguments += [write.field, version, write.arrival, write.payload]
        return (key, keys.meta), arguments

    def _put_call(self, puts: Sequence[_Put]) -> Command:
        keys = [key for keys, _ in puts for key in keys]
        return self._session.call(PUT, keys, [a for _, arguments in puts for a in arguments])

    def _keys(self, user_id: str) -> UserKeys:
        return keys_of(self._session.namespace, user_id)

    async def _scan(self, key: str) -> AsyncIterator[Page]:
        cursor = 0
        while True:
            ((cursor, page),) = await self._session.run([("HSCAN", key, cursor, "COUNT", PAGE)])
            yield page
            if not cursor:
                return


async def connect(settings: Settings, generation: str, *, resumes: bool = False) -> RecordStore:
    """Return the store of ``settings.redis`` for one vector space (``str(space)``).

    ``resumes``: events were applied to it before, so it must not be empty.

    Raises:
        DurabilityError: the server would lose acknowledged writes on a crash.
        TopicsError: the store was first used with another number of partitions.
        StoreLostError: it should hold data and does not.
        StoreUnavailableError: the server cannot be reached now.
        StoreRefusedError: the server refuses the login.
    """
    session = await Session.open(settings, resumes=resumes)
    return RecordStore(session, generation, user_records=settings.user_records)


def _place(sequence: int, born: int) -> Placed | None:
    if sequence < 0:
        return FULL
    return Placed(sequence, born) if sequence else None


def _check_owner(user_id: str, owner: bytes | None) -> None:
    if owner is not None and owner != user_id.encode():
        raise ForeignRecordError("a user's meta key holds another user id than its key")
