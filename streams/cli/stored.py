"""The store of a service that is there: a command that only looks never begins one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from streams.errors import StoreLostError, StreamsError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.store import RecordStore


@asynccontextmanager
async def opened(settings: Settings) -> "AsyncIterator[RecordStore]":
    """Give the store during the block. Raises ``StreamsError`` when no worker ever used it."""
    from streams.store import connect

    try:
        store = await connect(settings, generation="", resumes=True)
    except StoreLostError as error:
        raise StreamsError(
            f"Redis has no service with the namespace {settings.namespace!r}: "
            "is --namespace (SEEDMEM_NAMESPACE) right, and --redis?"
        ) from error
    try:
        yield store
    finally:
        await store.close()
