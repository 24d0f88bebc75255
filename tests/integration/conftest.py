"""One Redis for all tests, a namespace for each; and servers of their own to break."""

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from streams.local.redis import LocalRedis
from streams.settings import Settings
from streams.store import RecordStore, connect

GENERATION = "hash:8/8"

_numbers = itertools.count()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with LocalRedis(tmp_path_factory.mktemp("redis")) as server:
        yield server.url


@pytest.fixture
def settings(redis_url: str) -> Settings:
    return Settings(redis=redis_url, namespace=f"test-{next(_numbers)}-")


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[RecordStore]:
    store = await connect(settings, GENERATION)
    yield store
    await store.close()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[LocalRedis]:
    """A server that the test may break."""
    with LocalRedis(tmp_path / "own-redis") as server:
        yield server
