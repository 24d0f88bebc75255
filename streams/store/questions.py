"""A user's latest questions by request id, so that a recall may name the request alone.

Questions are gathered for a moment and written together: a round trip to Redis for each took a
sixth of a worker's event loop. Nobody sees the difference: ``keep`` returns when the question
is written, and ``find`` has one that still waits written at once.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field

from streams.store.keys import UserKeys
from streams.store.session import OWNED, Command, Session
from streams.tasks import heard

KEPT = 1_000  # of a user; the oldest go first
LIFETIME = 30 * 86_400  # seconds after the user's last question
GATHER = 0.25  # seconds that a question waits for others
TOGETHER = 64  # questions that wait no longer

_Request = tuple[str, str]  # user and request id


@dataclass(slots=True, eq=False)
class _Batch:
    """Questions that are written together."""

    texts: dict[_Request, str] = field(default_factory=dict)
    due: asyncio.Event = field(default_factory=asyncio.Event)
    written: asyncio.Task[None] = field(init=False)


class Questions:
    """Questions are a convenience, not durable state: a lost one costs one training pair."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: _Batch | None = None
        self._unwritten: dict[_Request, _Batch] = {}

    async def keep(self, user_id: str, request_id: str, text: str) -> None:
        """Remember what a request asked, of a user who has memories; written on return.

        A caller who is cancelled does not keep it from being written.
        """
        request, batch = (user_id, request_id), self._open
        if batch is None:
            batch = self._open = _Batch()
            batch.written = asyncio.create_task(self._write(batch))
            batch.written.add_done_callback(heard)
        batch.texts[request] = text
        self._unwritten[request] = batch
        if len(batch.texts) >= TOGETHER:
            batch.due.set()
        await asyncio.shield(batch.written)

    async def find(self, user_id: str, request_id: str) -> str | None:
        """Return what the request asked, or None when it is not among the latest."""
        if batch := self._unwritten.get((user_id, request_id)):
            batch.due.set()
            await asyncio.shield(batch.written)
        key = UserKeys(self._session.namespace, user_id).questions
        (entries,) = await self._session.run([("XREVRANGE", key, "+", "-", "COUNT", KEPT)])
        for _, entry in entries:
            if entry[b"id"] == request_id.encode():
                return str(entry[b"text"].decode())
        return None

    async def _write(self, batch: _Batch) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GATHER):
                await batch.due.wait()
        self._open = None
        try:
            await self._session.run(self._commands(batch.texts))
        finally:
            for request in batch.texts:
                if self._unwritten.get(request) is batch:
                    del self._unwritten[request]

    def _commands(self, texts: dict[_Request, str]) -> list[Command]:
        commands, expiries = list[Command](), dict[str, Command]()
        for (user_id, request_id), text in texts.items():
            keys = UserKeys(self._session.namespace, user_id)
            entry = (b"id", request_id.encode(), b"text", text.encode())
            add = (user_id, "XADD", "MAXLEN", "~", KEPT, "*", *entry)
            commands.append(self._session.call(OWNED, [keys.meta, keys.questions], add))
            expiries[user_id] = ("EXPIRE", keys.questions, LIFETIME)
        return [*commands, *expiries.values()]
