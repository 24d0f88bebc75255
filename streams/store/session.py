"""One pipeline to Redis and back: every command of the store goes through here.

Each pipeline first asks for the store's marker, so that a server which was
flushed, or restarted empty, is never taken for one that knows no user.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from streams.errors import StoreLostError, StoreUnavailableError, TopicsError
from streams.settings import Settings
from streams.store.connection import is_cluster, needs_waitaof, open_client
from streams.store.faults import translate, translated
from streams.store.keys import partitions_key

Command = tuple[Any, ...]

PUT, ERASE, OWNED, SETTLE = "put.lua", "erase.lua", "owned.lua", "settle.lua"

_LOST = (
    "Redis has no key {!r} any more: it was flushed or restarted empty; restore its append-only "
    "file, or reset the consumer groups to the start of the topics and delete their offsets"
)


class Session:
    """A pool of connections to one checked server."""

    def __init__(self, client: "Redis", settings: Settings) -> None:
        self._client = client
        self._marker = partitions_key(settings.namespace)
        self._patience = int(settings.redis_timeout * 900)  # ms, below the socket's timeout
        self._waitaof = False
        self._sha: dict[str, str] = {}
        self.is_cluster = False
        self.namespace = settings.namespace

    @classmethod
    async def open(cls, settings: Settings, *, resumes: bool = False) -> "Session":
        """Return a session; ``resumes`` says that the server must hold our data already.

        Raises:
            DurabilityError: the server would lose acknowledged writes.
            StoreLostError: it should hold data and does not.
            TopicsError: the store was first used with another number of partitions.
        """
        session = cls(open_client(settings), settings)
        try:
            with translated():
                session._waitaof = await needs_waitaof(session._client, settings)
                session.is_cluster = await is_cluster(session._client)
                await session._load_scripts()
                await session._claim(settings.partitions, resumes=resumes)
                return session
        except BaseException:
            await session.close()
            raise

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def run(self, commands: Sequence[Command], *, durable: bool = False) -> list[Any]:
        """Return the replies to ``commands``, sent in one pipeline.

        Args:
            durable: also wait until what was written is on the server's disk.

        Raises:
            StoreUnavailableError: the server cannot serve now; some commands may have run.
            StoreRefusedError: the server refuses a command.
            StoreLostError: the server's data is gone.
            ForeignRecordError: a script met another user's key.
        """
        waits = durable and self._waitaof
        sent = [("EXISTS", self._marker), *commands]
        if waits:
            sent.append(("WAITAOF", 1, 0, self._patience))
        with translated():
            replies = await self._send(sent)
            if any(isinstance(reply, NoScriptError) for reply in replies):
                await self._load_scripts()  # the server was restarted; scripts can be repeated
                replies = await self._send(sent)
        return self._checked(replies, waits=waits)

    def call(self, script: str, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Command:
        """Return the command that runs ``script``."""
        return ("EVALSHA", self._sha[script], len(keys), *keys, *args)

    async def scan(self, cursor: int, pattern: str, count: int) -> tuple[int, list[bytes]]:
        """Return the next cursor and some of the keys that match ``pattern``."""
        ((following, keys),) = await self.run([("SCAN", cursor, "MATCH", pattern, "COUNT", count)])
        return int(following), keys

    async def _send(self, commands: Sequence[Command]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return await pipeline.execute(raise_on_error=False)

    def _checked(self, replies: list[Any], *, waits: bool) -> list[Any]:
        for reply in replies:
            if isinstance(reply, RedisError):
                raise translate(reply) from reply
        if not replies[0]:
            raise StoreLostError(_LOST.format(self._marker))
        if waits and replies[-1][0] < 1:
            raise StoreUnavailableError(f"Redis did not sync its file in {self._patience} ms")
        return replies[1:-1] if waits else replies[1:]

    async def _load_scripts(self) -> None:
        for name in (PUT, ERASE, OWNED, SETTLE):
            source = files("streams.store").joinpath(name).read_text(encoding="utf-8")
            self._sha[name] = await self._client.script_load(source)

    async def _claim(self, partitions: int, *, resumes: bool) -> None:
        if resumes and not await self._client.exists(self._marker):
            raise StoreLostError(_LOST.format(self._marker))
        await self._client.set(self._marker, partitions, nx=True)
        stored = int(await self._client.get(self._marker) or partitions)
        if stored != partitions:
            raise TopicsError(
                f"Redis holds users of {stored} partitions, this worker has {partitions}: "
                f"set SEEDMEM_PARTITIONS={stored}"
            )
