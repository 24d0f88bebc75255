"""Real Kafka and Redis for the whole run, names for each test, and what a test showed."""

import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka import KafkaAdminClient

from streams import topics
from streams.local import LocalKafka, LocalRedis
from streams.local.ports import answers, kept_ports
from streams.local.process import DirectoryLock, ServerProcess
from streams.settings import Settings
from streams.topics import Topics

pytest.register_assert_rewrite("scenarios")

_READY = 60.0  # seconds; a worker waits for its partitions, on a busy machine
_SHOWED = "showed"  # a property of a test; also those of other processes reach the summary
_STOP = 25.0  # seconds that SIGTERM may take


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """The broker of the run. A test that stops or kills it needs one of its own."""
    with LocalKafka(tmp_path_factory.mktemp("kafka")) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedis]:
    """The Redis of the run. A test that stops or kills it needs one of its own."""
    with LocalRedis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: LocalRedis) -> str:
    return redis_server.url


@pytest.fixture
def namespace() -> str:
    """The prefix of the topics, keys and groups of one test."""
    return f"t{uuid.uuid4().hex[:10]}-"


@pytest.fixture
def settings(kafka: LocalKafka, redis_url: str, namespace: str) -> Iterator[Settings]:
    """A service of the test's own: four partitions, its topics created, a quick encoder."""
    settings = Settings(
        kafka=kafka.bootstrap,
        redis=redis_url,
        namespace=namespace,
        partitions=4,
        encoder="hash:64",
        session_timeout=6.0,
    )
    topics.create(settings)
    yield settings
    with KafkaAdminClient(bootstrap_servers=kafka.bootstrap) as admin:
        admin.delete_topics(list(Topics(namespace).all))


class Worker:
    """``seedmem worker`` in a process of its own."""

    def __init__(self, settings: Settings, directory: Path) -> None:
        [self.port] = kept_ports(directory / "port", 1)
        self.settings = msgspec.structs.replace(settings, health_port=self.port)
        self.process = ServerProcess("worker", directory / "worker.log")
        self._lock = DirectoryLock(directory)
        self.command = [sys.executable, "-m", "streams.cli", "worker"]
        """A test may start another program with the same settings."""

    @property
    def log(self) -> str:
        """All that it has printed."""
        return self.process.log.read_text()

    @property
    def is_ready(self) -> bool:
        return answers(self.port, send=b"GET /ready HTTP/1.0\r\n\r\n", expect=b"HTTP/1.0 200")

    def launch(self) -> None:
        """Start it and do not wait."""
        self.process.start(self.command, lock=self._lock.take(), variables=self.settings.to_env())

    def start(self) -> None:
        """Start it and return when it is ready."""
        self.launch()
        self.process.wait_until(lambda: self.is_ready, timeout=_READY)

    def stop(self) -> int | None:
        """Send SIGTERM and return the exit code, -9 if it had to be killed."""
        return self.process.stop(timeout=_STOP)

    def kill(self) -> None:
        """Send SIGKILL. It can be started again."""
        self.process.kill()


@pytest.fixture(scope="session")
def service(
    kafka: LocalKafka, redis_server: LocalRedis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """A running service that tests share: each brings users of its own and leaves it running."""
    settings = Settings(
        kafka=kafka.bootstrap,
        redis=redis_server.url,
        namespace="shared-",
        partitions=4,
        encoder="hash:64",
        session_timeout=6.0,
    )
    topics.create(settings)
    worker = Worker(settings, tmp_path_factory.mktemp("worker"))
    worker.start()
    yield settings
    worker.kill()


@pytest.fixture(scope="module")
def shared_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Worker]]:
    """Call it with settings for a worker, not started yet, that the tests of a module share."""
    made: list[Worker] = []

    def make(settings: Settings) -> Worker:
        made.append(Worker(settings, tmp_path_factory.mktemp("worker")))
        return made[-1]

    yield make
    for worker in made:
        worker.kill()


@pytest.fixture
def user() -> str:
    """A user id that no other test has."""
    return f"user-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def workers(settings: Settings, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Call it for a worker that is ready; ``start=False`` leaves the start to the test.

    Its keywords are settings that differ from the test's.
    """
    made: list[Worker] = []

    def make(*, start: bool = True, **differing: Any) -> Worker:
        directory = tmp_path / f"worker-{len(made)}"
        directory.mkdir()
        made.append(Worker(msgspec.structs.replace(settings, **differing), directory))
        if start:
            made[-1].start()
        return made[-1]

    yield make
    for worker in made:
        worker.kill()


@pytest.fixture
def showed(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """Call it with what the test showed, by name; it is printed when the run ends."""
    started, facts = time.monotonic(), list[str]()

    def note(**found: object) -> None:
        facts.extend(f"{name.replace('_', ' ')} {_short(value)}" for name, value in found.items())

    yield note
    facts.append(f"{time.monotonic() - started:.0f} s in all")
    request.node.user_properties.append((_SHOWED, f"{request.node.name}: {', '.join(facts)}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    ended = [r for r in reports if getattr(r, "when", None) == "teardown"]
    lines = [fact for report in ended for name, fact in report.user_properties if name == _SHOWED]
    if lines:
        terminalreporter.section("what the scenarios showed")
        for line in lines:
            terminalreporter.write_line(line)


def _short(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
