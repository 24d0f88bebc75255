"""Servers that a test may break, and a stage on the test's service."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scenarios.stage import Stage

from streams import topics
from streams.local import LocalKafka, LocalRedis
from streams.settings import Settings

worker_that_fails = Path(__file__).parents[1] / "scenarios" / "worker.py"


@pytest.fixture
def stage(settings: Settings) -> Stage:
    return Stage(settings)


@pytest.fixture
def faulty(workers: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Call it for a worker that fails on command, as ``scenarios.worker`` says; also its file."""

    def make(**differing: Any) -> tuple[Any, Path]:
        worker, hold = workers(start=False, **differing), tmp_path / "hold"
        worker.command = [sys.executable, str(worker_that_fails), str(hold)]
        worker.start()
        return worker, hold

    return make


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[LocalRedis]:
    """A server that the test may break."""
    with LocalRedis(tmp_path / "own-redis") as server:
        yield server


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[LocalKafka]:
    """A broker that the test may break."""
    with LocalKafka(tmp_path / "own-kafka") as server:
        yield server


@pytest.fixture
def on_own_redis(settings: Settings, own_redis: LocalRedis) -> Settings:
    return msgspec.structs.replace(settings, redis=own_redis.url)


@pytest.fixture
def on_own_kafka(settings: Settings, own_kafka: LocalKafka) -> Settings:
    """The test's service on a broker of its own, its topics created."""
    own = msgspec.structs.replace(settings, kafka=own_kafka.bootstrap)
    topics.create(own)
    return own
