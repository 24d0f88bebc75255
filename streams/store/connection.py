"""One connection pool to Redis, and what the server must promise before we write to it."""

import logging
import re
from collections.abc import Iterable
from typing import Any

import hiredis
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError, ResponseError

from streams.errors import DurabilityError
from streams.settings import Settings

logger = logging.getLogger(__name__)

POOL_SIZE = 32  # connections; a call that finds none free waits up to redis_timeout
RETRIES = 1  # of a call whose connection broke; slow calls are not repeated here
HEALTH_CHECK = 30  # seconds idle after which a connection is tried before it is used
WAITAOF_SINCE = (7, 2)


def open_client(settings: Settings) -> "Redis":
    """Return a client of ``settings.redis``; nothing is sent yet.

    Replies stay bytes: vectors are no text. A call that times out is not
    repeated here, so that it costs its caller one ``redis_timeout`` at most;
    callers wait and repeat as their own deadline allows.
    """
    pool = BlockingConnectionPool.from_url(
        settings.redis,
        protocol=2,
        decode_responses=False,
        max_connections=POOL_SIZE,
        timeout=settings.redis_timeout,
        socket_timeout=settings.redis_timeout,
        socket_connect_timeout=settings.redis_timeout,
        health_check_interval=HEALTH_CHECK,
        retry=Retry(ExponentialBackoff(cap=0.1, base=0.01), RETRIES, (ConnectionError,)),
    )
    pool.connection_class = _packing(pool.connection_class)
    return Redis.from_pool(pool)


def _packing(kind: type[Any]) -> type[Any]:
    """Return a kind of connection whose pipelines are packed by hiredis.

    redis-py does so for blocking connections only: in Python it takes 20 µs a command.
    """

    class Packing(kind):  # type: ignore[misc]
        def pack_commands(self, commands: Iterable[tuple[Any, ...]]) -> list[bytes]:
            return [hiredis.pack_command(command) for command in commands]

    return Packing


async def is_cluster(client: "Redis") -> bool:
    """Return whether the keys of two users may lie on two servers, so that no script sees both."""
    info: dict[str, Any] = await client.info("cluster")
    return bool(info.get("cluster_enabled"))


async def needs_waitaof(client: "Redis", settings: Settings) -> bool:
    """Return whether each write must be followed by WAITAOF to be durable.

    Raises:
        DurabilityError: the server would lose acknowledged writes on a crash, or may evict them,
            and ``settings.allow_volatile_redis`` is off.
    """
    info: dict[str, Any] = await client.info("all")
    fsync = await _appendfsync(client)
    recent = _version(str(info["redis_version"])) >= WAITAOF_SINCE
    fault = _fault(info, fsync, recent=recent)
    if fault is None:
        if fsync != "always":
            logger.warning(
                "Redis has appendfsync %s and every batch waits for its sync, up to a second; "
                "with always it waits for milliseconds",
                fsync,
            )
        return fsync != "always"
    if not settings.allow_volatile_redis:
        raise DurabilityError(f"{fault}, or set SEEDMEM_ALLOW_VOLATILE_REDIS=true to lose data")
    logger.warning("this Redis may lose acknowledged writes: %s", fault)
    return False


def _fault(info: dict[str, Any], fsync: str, *, recent: bool) -> str | None:
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy.startswith("allkeys"):  # volatile-* evicts keys with a time to live: we have none
        return f"Redis evicts keys when full (maxmemory-policy {policy}): set noeviction"
    if not int(info.get("aof_enabled", 0)):
        return "Redis keeps no append-only file: set appendonly yes and appendfsync always"
    if fsync == "no" or (fsync != "always" and not recent):
        version = info["redis_version"]
        return f"Redis {version} has appendfsync {fsync}: set always (everysec will do since 7.2)"
    return None


async def _appendfsync(client: "Redis") -> str:
    try:
        reply: dict[Any, Any] = await client.config_get("appendfsync")
    except ResponseError:  # managed servers forbid CONFIG
        return "unknown"
    return str(reply.get("appendfsync", "unknown"))


def _version(text: str) -> tuple[int, int]:
    numbers = re.findall(r"\d+", text)
    return int(numbers[0]), int(numbers[1])
