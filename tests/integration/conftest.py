"""A store with a namespace of its own on the run's Redis, and a server to break."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from streams.local import LocalRedis
from streams.settings import Settings
from streams.store import RecordStore, connect


@pytest.fixture
def store_settings(redis_url: str, namespace: str) -> Settings:
    """Redis alone: no topics are made."""
    return Settings(redis=redis_url, namespace=namespace)


@pytest.fixture
async def store(store_settings: Settings) -> AsyncIterator[RecordStore]:
    store = await connect(store_settings, "hash:8/8")
    yield store
    await store.close()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[LocalRedis]:
    """A server that the test may break."""
    with LocalRedis(tmp_path / "own-redis") as server:
        yield server
